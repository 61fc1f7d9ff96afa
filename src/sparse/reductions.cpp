// What is said of all elements that differ in one dimension alone.
#include <limits>
#include <numeric>

#include "base/check.h"
#include "dyadic/ops.h"
#include "sparse/places.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::sparse {
namespace {

int64_t checked_dim(const char* who, const SparseTensor& a, int64_t dim) {
  const int64_t d = dim < 0 ? dim + a.dim() : dim;
  DY_CHECK(d >= 0 && d < a.sparse_dim(), "{}: the dimension is a sparse one: of {} with {} sparse dimensions it is {}", who,
           shape_text(a.sizes()), a.sparse_dim(), dim);
  return d;
}

struct Others {  // the sparse dimensions but one
  Tensor indices;
  std::vector<int64_t> sizes;
};
Others others(const SparseTensor& a, int64_t dim) {
  std::vector<int64_t> kept, sizes;
  for (int64_t d = 0; d < a.sparse_dim(); ++d)
    if (d != dim) kept.push_back(d), sizes.push_back(a.size(d));
  const Tensor indices = indices_of(a);
  return {kept.empty() ? zeros({1, a.nnz()}, i64) : index_select(indices, 0, tensor(kept)),
          kept.empty() ? std::vector<int64_t>{1} : sizes};
}

}  // namespace

SparseTensor softmax(const SparseTensor& a, int64_t dim, bool logarithm) {
  const Others o = others(a, checked_dim("sparse.softmax", a, dim));
  const SparseTensor c = a.coalesce();
  if (c.nnz() != a.nnz()) return softmax(c, dim, logarithm);
  const Tensor group = unique(flat_places(o.indices, o.sizes)).inverse;
  const int64_t groups = group.numel() ? group.max().item<int64_t>() + 1 : 0;
  std::vector<int64_t> sizes = a.values().sizes().vec();
  sizes[0] = groups;
  const Tensor& v = a.values();
  const Tensor least = full(sizes, -std::numeric_limits<double>::infinity(), v.dtype());
  std::vector<int64_t> one_each(size_t(v.dim()), 1);
  one_each[0] = v.size(0);
  const Tensor largest = scatter_reduce(least, 0, group.view(one_each).expand(v.sizes()), v.detach(), "amax");
  const Tensor shifted = v - index_select(largest, 0, group);
  const Tensor e = exp(shifted), total = index_select(index_add(zeros(sizes, v.dtype()), 0, group, e), 0, group);
  return a.with_values(logarithm ? shifted - log(total) : e / total);
}

SparseTensor sum(const SparseTensor& a, int64_t dim) {
  const int64_t d = checked_dim("sparse.sum", a, dim);
  DY_CHECK(a.sparse_dim() > 1, "sparse.sum: it is over the only sparse dimension: that is values().sum(0)");
  Others o = others(a, d);
  o.sizes.insert(o.sizes.end(), a.sizes().begin() + a.sparse_dim(), a.sizes().end());
  return sparse_coo_tensor(o.indices, a.values(), o.sizes).coalesce();
}

}  // namespace dyadic::inline v1::sparse
