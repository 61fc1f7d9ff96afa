// Products and sums of sparse tensors.
#include "base/check.h"
#include "dyadic/ops.h"
#include "dyadic/sparse.h"
#include "sparse/places.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::sparse {
namespace {

void check_matrix(const char* who, const SparseTensor& a) {
  DY_CHECK(a.dim() == 2 && a.sparse_dim() == 2, "{}: the sparse one is a matrix of numbers: it is {} with {} sparse dimensions",
           who, shape_text(a.sizes()), a.sparse_dim());
}
void check_inner(const SparseTensor& a, IntList b) {
  DY_CHECK(a.size(1) == b[0], "sparse.mm: inner sizes differ: a is {}, b is {}", shape_text(a.sizes()), shape_text(b));
}

}  // namespace

Tensor mm(const SparseTensor& a, const Tensor& b) {
  check_matrix("sparse.mm", a);
  DY_CHECK(b.dim() == 1 || b.dim() == 2, "sparse.mm: the dense one is a matrix or a vector: it is {}", describe(b));
  DY_CHECK_AS(TypeError, a.values().dtype() == b.dtype(), "sparse.mm: both are of one dtype: they are {} and {}",
              a.values().dtype().name(), b.dtype().name());
  check_inner(a, b.sizes());
  if (b.dim() == 1) return mm(a, b.unsqueeze(1)).squeeze(1);
  const Tensor places = indices_of(a);
  const Tensor products = index_select(b, 0, places.select(0, 1)) * a.values().unsqueeze(1);
  return index_add(zeros({a.size(0), b.size(1)}, products.dtype()), 0, places.select(0, 0), products);
}

// Each element of a meets a whole row of b; what falls on one place is added up.
SparseTensor mm(const SparseTensor& a, const SparseTensor& b) {
  check_matrix("sparse.mm", a);
  check_matrix("sparse.mm", b);
  check_inner(a, b.sizes());
  const SparseTensor by_rows = b.to_sparse_csr();
  const Tensor places = indices_of(a), crow = by_rows.crow_indices(), starts = index_select(crow, 0, places.select(0, 1));
  const Tensor lengths = index_select(crow, 0, places.select(0, 1) + 1) - starts;
  const Tensor of_a = repeat_interleave(arange(a.nnz()), lengths);
  const Tensor within = arange(of_a.size(0)) - index_select(cumsum(lengths, 0) - lengths, 0, of_a);
  const Tensor of_b = index_select(starts, 0, of_a) + within;
  const Tensor rows = index_select(places.select(0, 0), 0, of_a), columns = index_select(by_rows.col_indices(), 0, of_b);
  const Tensor values = index_select(a.values(), 0, of_a) * index_select(by_rows.values(), 0, of_b);
  const SparseTensor c = sparse_coo_tensor(stack({rows, columns}), values, IntList{a.size(0), b.size(1)}).coalesce();
  return a.layout() == SparseLayout::csr ? c.to_sparse_csr() : c;
}

SparseTensor add(const SparseTensor& a, const SparseTensor& b, Scalar alpha) {
  DY_CHECK(a.sizes() == b.sizes() && a.sparse_dim() == b.sparse_dim(), "sparse.add: sizes differ: a is {}, b is {}",
           shape_text(a.sizes()), shape_text(b.sizes()));
  const SparseTensor x = a.to_sparse_coo(), y = b.to_sparse_coo();
  const SparseTensor sum =
      sparse_coo_tensor(cat({x.indices(), y.indices()}, 1), cat({x.values(), y.values() * alpha}), a.sizes());
  if (a.layout() == SparseLayout::csr) return sum.to_sparse_csr();
  return x.is_coalesced() && y.is_coalesced() ? sum.coalesce() : sum;
}

Tensor gather(const SparseTensor& a, const Tensor& dense) {
  DY_CHECK(a.sizes() == dense.sizes(), "sparse: sizes differ: the sparse one is {}, the dense one is {}", shape_text(a.sizes()),
           shape_text(dense.sizes()));
  const std::vector<int64_t> outer(a.sizes().begin(), a.sizes().begin() + a.sparse_dim());
  return index_select(dense.flatten(0, a.sparse_dim() - 1), 0, flat_places(indices_of(a), outer));
}

SparseTensor sampled_addmm(const SparseTensor& a, const Tensor& b, const Tensor& c, Scalar beta, Scalar alpha) {
  check_matrix("sparse.sampled_addmm", a);
  DY_CHECK(b.dim() == 2 && c.dim() == 2 && b.size(0) == a.size(0) && c.size(1) == a.size(1) && b.size(1) == c.size(0),
           "sparse.sampled_addmm: sizes do not fit: the sparse one is {}, the dense ones are {} and {}", shape_text(a.sizes()),
           describe(b), describe(c));
  const Tensor places = indices_of(a);
  const Tensor products = index_select(b, 0, places.select(0, 0)) * index_select(c.t(), 0, places.select(0, 1));
  return a.with_values(a.values() * beta + products.sum(1) * alpha);
}

}  // namespace dyadic::inline v1::sparse
