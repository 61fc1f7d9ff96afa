// What a sparse tensor is: its parts, their rules, and its layouts. Everything is made of ops, so that gradients follow.
#include "dyadic/sparse.h"

#include <numeric>

#include "base/check.h"
#include "dyadic/ops.h"
#include "sparse/places.h"
#include "tensor/impl.h"

namespace dyadic::inline v1 {
namespace sparse {

Tensor flat_places(const Tensor& indices, IntList sizes) {
  Tensor flat = indices.select(0, 0);
  for (int64_t d = 1; d < indices.size(0); ++d) flat = flat * sizes[size_t(d)] + indices.select(0, d);
  return flat;
}

Tensor rows_of(const Tensor& crow) {
  return repeat_interleave(arange(crow.size(0) - 1), crow.slice(0, 1) - crow.slice(0, 0, crow.size(0) - 1));
}

Tensor row_starts(const Tensor& rows, int64_t n) { return cat({zeros({1}, i64), cumsum(bincount(rows, {}, n), 0)}); }

Tensor indices_of(const SparseTensor& s) {
  return s.layout() == SparseLayout::coo ? s.indices() : stack({rows_of(s.crow_indices()), s.col_indices()});
}

}  // namespace sparse

namespace {

std::vector<int64_t> sparse_sizes(const SparseTensor& s) { return {s.sizes().begin(), s.sizes().begin() + s.sparse_dim()}; }

Tensor checked_places(const char* who, const char* name, const Tensor& t, int64_t dim) {
  DY_CHECK(t.defined() && t.dim() == dim && (t.dtype() == i64 || t.dtype() == i32 || t.numel() == 0),
           "{}: {} are int64 of {} dimension{}: they are {}", who, name, dim, dim == 1 ? "" : "s",
           t.defined() ? describe(t) : "undefined");
  return t.detach().to(i64);
}

void check_within(const char* who, const Tensor& places, int64_t size, int64_t dim) {
  if (places.numel() == 0) return;
  const int64_t low = places.min().item<int64_t>(), high = places.max().item<int64_t>();
  DY_CHECK(low >= 0 && high < size, "{}: an index is out of range: dimension {} has size {}, an index is {}", who, dim, size,
           low < 0 ? low : high);
}

}  // namespace

SparseTensor::SparseTensor(SparseLayout layout, Tensor place, Tensor columns, Tensor values, std::vector<int64_t> sizes,
                           bool coalesced)
    : layout_(layout),
      place_(std::move(place)),
      columns_(std::move(columns)),
      values_(std::move(values)),
      sizes_(std::move(sizes)),
      coalesced_(coalesced) {}

int64_t SparseTensor::size(int64_t d) const {
  DY_CHECK_AS(IndexError, d >= -dim() && d < dim(), "size: dimension {} of a sparse tensor of {}", d, dim());
  return sizes_[size_t(d < 0 ? d + dim() : d)];
}
const Tensor& SparseTensor::indices() const {
  DY_CHECK(layout_ == SparseLayout::coo,
           "indices: the layout is csr; it has crow_indices and col_indices, to_sparse_coo() has these");
  return place_;
}
const Tensor& SparseTensor::crow_indices() const {
  DY_CHECK(layout_ == SparseLayout::csr, "crow_indices: the layout is coo; it has indices, to_sparse_csr() has these");
  return place_;
}
const Tensor& SparseTensor::col_indices() const {
  DY_CHECK(layout_ == SparseLayout::csr, "col_indices: the layout is coo; it has indices, to_sparse_csr() has these");
  return columns_;
}

SparseTensor sparse_coo_tensor(const Tensor& given, const Tensor& values, std::optional<IntList> size, bool is_coalesced) {
  constexpr const char* kWho = "sparse_coo_tensor";
  const Tensor indices = checked_places(kWho, "indices", given, 2);
  DY_CHECK(values.dim() >= 1 && values.size(0) == indices.size(1),
           "{}: there is an index for each value: indices are {}, values {}", kWho, describe(given), describe(values));
  const int64_t n = indices.size(0);
  std::vector<int64_t> sizes;
  if (size) {
    sizes = size->vec();
  } else {
    DY_CHECK(indices.numel() > 0, "{}: without elements the size is not known: pass size", kWho);
    for (int64_t d = 0; d < n; ++d) sizes.push_back(indices.select(0, d).max().item<int64_t>() + 1);
    for (int64_t d = 1; d < values.dim(); ++d) sizes.push_back(values.size(d));
  }
  DY_CHECK(int64_t(sizes.size()) == n + values.dim() - 1 && n > 0 &&
               std::equal(sizes.begin() + n, sizes.end(), values.sizes().begin() + 1),
           "{}: size {} is not that of the indices' {} dimensions, then of a value: values are {}", kWho, shape_text(sizes), n,
           describe(values));
  for (int64_t d = 0; d < n; ++d) check_within(kWho, indices.select(0, d), sizes[size_t(d)], d);
  return {SparseLayout::coo, indices, {}, values, std::move(sizes), is_coalesced};
}

SparseTensor sparse_csr_tensor(const Tensor& crow_indices, const Tensor& col_indices, const Tensor& values,
                               std::optional<IntList> size) {
  constexpr const char* kWho = "sparse_csr_tensor";
  const Tensor crow = checked_places(kWho, "crow_indices", crow_indices, 1),
               col = checked_places(kWho, "col_indices", col_indices, 1);
  DY_CHECK(values.dim() == 1 && values.sizes() == col.sizes(), "{}: col_indices and values are of one size: they are {} and {}",
           kWho, describe(col_indices), describe(values));
  DY_CHECK(crow.size(0) >= 1, "{}: crow_indices have one number more than there are rows: they are {}", kWho,
           describe(crow_indices));
  const int64_t rows = crow.size(0) - 1;
  std::vector<int64_t> sizes = size ? size->vec() : std::vector<int64_t>{rows, col.numel() ? col.max().item<int64_t>() + 1 : 0};
  DY_CHECK(sizes.size() == 2 && sizes[0] == rows, "{}: size {} is not that of a matrix of {} rows, which crow_indices tell",
           kWho, shape_text(sizes), rows);
  check_within(kWho, col, sizes[1], 1);
  const bool ordered = crow.select(0, 0).item<int64_t>() == 0 && crow.select(0, rows).item<int64_t>() == col.size(0) &&
                       (crow.slice(0, 1) >= crow.slice(0, 0, rows)).all().item<bool>();
  DY_CHECK(ordered, "{}: crow_indices do not rise from 0 to the number of values, {}", kWho, col.size(0));
  return {SparseLayout::csr, crow, col, values, std::move(sizes), false};
}

SparseTensor to_sparse(const Tensor& dense, std::optional<int64_t> sparse_dim) {
  const int64_t n = sparse_dim.value_or(dense.dim());
  DY_CHECK(dense.dim() > 0 && n > 0 && n <= dense.dim(), "to_sparse: sparse_dim is 1 to {}: it is {}", dense.dim(), n);
  std::vector<int64_t> sizes(dense.sizes().begin(), dense.sizes().begin() + n), inner{-1};
  Tensor there = dense != 0;
  if (n < dense.dim()) there = there.flatten(n).any(-1);
  const Tensor indices = nonzero(there).t().contiguous();
  inner.insert(inner.end(), dense.sizes().begin() + n, dense.sizes().end());
  inner[0] = std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
  const Tensor values = index_select(dense.reshape(inner), 0, sparse::flat_places(indices, sizes));
  return sparse_coo_tensor(indices, values, dense.sizes(), true);
}

SparseTensor SparseTensor::with_values(const Tensor& values) const {
  DY_CHECK(values.dim() >= 1 && values.size(0) == nnz(), "with_values: there are {} places: values are {}", nnz(),
           describe(values));
  SparseTensor other = *this;
  other.values_ = values;
  return other;
}

SparseTensor SparseTensor::coalesce() const {
  if (coalesced_ || layout_ == SparseLayout::csr) return *this;
  SparseTensor out = *this;
  out.coalesced_ = true;
  if (nnz() < 2) return out;
  const auto [flat, order] = sort(sparse::flat_places(place_, sparse_sizes(*this)), 0, false, true);
  const Tensor first = cat({ones({1}, boolean), flat.slice(0, 1) != flat.slice(0, 0, nnz() - 1)});
  const Tensor group = cumsum(first.to(i64), 0) - 1;
  std::vector<int64_t> sizes = values_.sizes().vec();
  sizes[0] = group.select(0, -1).item<int64_t>() + 1;
  out.place_ = index_select(place_, 1, index_select(order, 0, nonzero(first).select(1, 0)));
  const Tensor sorted = index_select(values_, 0, order);
  out.values_ = sizes[0] == nnz() ? sorted : index_add(zeros(sizes, values_.dtype()), 0, group, sorted);
  return out;
}

Tensor SparseTensor::to_dense() const {
  const std::vector<int64_t> outer = sparse_sizes(*this);
  std::vector<int64_t> sizes = values_.sizes().vec();
  sizes[0] = std::accumulate(outer.begin(), outer.end(), int64_t(1), std::multiplies<>());
  const Tensor places = sparse::flat_places(sparse::indices_of(*this), outer);
  return index_add(zeros(sizes, values_.dtype()), 0, places, values_).reshape(sizes_);
}

SparseTensor SparseTensor::to_sparse_coo() const {
  return layout_ == SparseLayout::coo ? *this : sparse_coo_tensor(sparse::indices_of(*this), values_, sizes_, true);
}

SparseTensor SparseTensor::to_sparse_csr() const {
  if (layout_ == SparseLayout::csr) return *this;
  DY_CHECK(dim() == 2 && sparse_dim() == 2, "to_sparse_csr: it is a matrix of numbers: this is {} with {} sparse dimensions",
           shape_text(sizes_), sparse_dim());
  const SparseTensor c = coalesce();
  return sparse_csr_tensor(sparse::row_starts(c.place_.select(0, 0), sizes_[0]), c.place_.select(0, 1), c.values_, sizes_);
}

SparseTensor SparseTensor::transpose(int64_t dim0, int64_t dim1) const {
  const int64_t n = dim(), s = sparse_dim();
  const int64_t a = dim0 < 0 ? dim0 + n : dim0, b = dim1 < 0 ? dim1 + n : dim1;
  DY_CHECK(a >= 0 && b >= 0 && a < s && b < s,
           "transpose: of a sparse tensor: dimensions are among its {} sparse ones: they are {} and {}", s, dim0, dim1);
  if (layout_ == SparseLayout::csr) return a == b ? *this : to_sparse_coo().transpose(a, b).to_sparse_csr();
  std::vector<int64_t> sizes = sizes_, order(size_t(s), 0);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[size_t(a)], order[size_t(b)]);
  std::swap(sizes[size_t(a)], sizes[size_t(b)]);
  return {SparseLayout::coo, index_select(place_, 0, tensor(order)), {}, values_, std::move(sizes), coalesced_ && a == b};
}

}  // namespace dyadic::inline v1
