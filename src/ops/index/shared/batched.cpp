#include "ops/index/batched.h"

#include <numeric>

namespace dyadic::inline v1::ops {
namespace {

// The indexed dimensions first, behind that of the entries.
struct Order {
  std::vector<int64_t> front, back;  // for permute, there and back
  Order(const IndexedDims& d, int64_t ndim, int64_t count, bool entries) {
    if (entries) front.push_back(0);
    for (int64_t k = 0; k < count; ++k) front.push_back(d.dim[k] + entries);
    for (int64_t k = 0; k < ndim; ++k)
      if (!(d.mask >> k & 1)) front.push_back(k + entries);
    back.resize(front.size());
    for (size_t k = 0; k < front.size(); ++k) back[size_t(front[k])] = int64_t(k);
  }
};

// Of [entries, places, others]: the places where the op puts them.
std::vector<int64_t> places_order(const IndexedDims& d, int64_t others) {
  std::vector<int64_t> order = {0};
  for (int64_t k = 0; k < d.place; ++k) order.push_back(1 + d.ndim + k);
  for (int64_t k = 0; k < d.ndim; ++k) order.push_back(1 + k);
  for (int64_t k = d.place; k < others; ++k) order.push_back(1 + d.ndim + k);
  return order;
}
std::vector<int64_t> inverse(const std::vector<int64_t>& order) {
  std::vector<int64_t> back(order.size());
  for (size_t k = 0; k < order.size(); ++k) back[size_t(order[k])] = int64_t(k);
  return back;
}

struct Key {
  std::vector<Tensor> indices;
  std::vector<int64_t> dims;
  bool own = false;  // some index differs between the entries
};
// The indices of all entries; `numbered`: after the number of the entry, as the others are of its dimension on.
Key key_of(const BatchedCall& b, const IndexedDims& d, std::span<const Tensor> indices, bool self_has_entries) {
  Key key;
  for (const Tensor& t : indices) key.own |= entries_at(t, *b.level) != nullptr;
  for (const Tensor& t : indices) {
    if (!entries_at(t, *b.level)) {
      key.indices.push_back(t);
      continue;
    }
    std::vector<int64_t> sizes = t.sizes().vec();
    sizes.insert(sizes.begin(), size_t(d.ndim - t.dim()), 1);
    sizes.insert(sizes.begin(), b.entries);
    key.indices.push_back(whole_of(t).reshape(sizes));
  }
  const bool numbered = key.own && self_has_entries;
  if (numbered) {
    std::vector<int64_t> sizes(size_t(d.ndim) + 1, 1);
    sizes[0] = b.entries;
    key.indices.insert(key.indices.begin(), arange(0, b.entries, 1, i64, indices[0].device()).reshape(sizes));
  }
  key.dims.resize(key.indices.size());
  std::iota(key.dims.begin(), key.dims.end(), int64_t(self_has_entries && !numbered));
  return key;
}

IndexedDims along(const Tensor& self, int64_t dim, const Tensor& index) {
  IndexedDims d;
  d.dim[0] = wrap_dim("vmap", dim, self.dim());
  d.mask = 1u << d.dim[0];
  d.ndim = 1;
  d.sizes[0] = index.numel();
  d.place = d.dim[0];
  return d;
}
// An index of one dimension as that, though it may be 0-d.
Tensor flat(const Tensor& index) { return index.dim() == 1 ? index : index.reshape({index.numel()}); }

}  // namespace

bool batched_read(BatchedCall& b, const IndexedDims& d, std::span<const Tensor> indices) {
  const Tensor& self = *b.c.args[0].tensor;
  const bool many = entries_at(self, *b.level);
  const Order order(d, self.dim(), int64_t(indices.size()), many);
  const Key key = key_of(b, d, indices, many);
  const Tensor found =
      call(Op::index_, b.given(0).permute(order.front), std::span<const Tensor>(key.indices), IntList(key.dims));
  b.results[0] = found.permute(places_order(d, self.dim() - int64_t(indices.size())));
  return true;
}

bool batched_write(BatchedCall& b, const IndexedDims& d, std::span<const Tensor> indices, const Tensor& values,
                   bool accumulate) {
  const Tensor& self = *b.c.args[0].tensor;
  const Order order(d, self.dim(), int64_t(indices.size()), true);
  const Key key = key_of(b, d, indices, true);
  std::vector<int64_t> places = d.result_shape(self), sizes = values.sizes().vec();
  sizes.insert(sizes.begin(), places.size() - sizes.size(), 1);
  sizes.insert(sizes.begin(), entries_at(values, *b.level) ? b.entries : 1);
  places.insert(places.begin(), b.entries);
  const Tensor all = entries_at(values, *b.level) ? whole_of(values) : values;
  const Tensor source =
      expand(all.reshape(sizes), places).permute(inverse(places_order(d, self.dim() - int64_t(indices.size()))));
  const Tensor written = call(Op::index_write_, b.whole(0).permute(order.front), source, std::span<const Tensor>(key.indices),
                              IntList(key.dims), accumulate);
  b.results[0] = written.permute(order.back);
  return true;
}

bool batched_select(BatchedCall& b) {
  const Tensor &self = *b.c.args[0].tensor, &index = *b.c.args[2].tensor;
  if (self.dim() == 0) return false;
  const Tensor one[] = {flat(index)};
  return batched_read(b, along(self, b.c.integer(1), index), one);
}
bool batched_along(BatchedCall& b, bool accumulate) {
  const Tensor &self = *b.c.args[0].tensor, &index = *b.c.args[2].tensor, &source = *b.c.args[3].tensor;
  if (self.dim() == 0 || source.dim() != self.dim()) return false;
  const Tensor one[] = {flat(index)};
  return batched_write(b, along(self, b.c.integer(1), index), one, source, accumulate);
}
bool batched_fill(BatchedCall& b) {
  const Tensor &self = *b.c.args[0].tensor, &index = *b.c.args[2].tensor;
  if (self.dim() == 0) return false;
  const Tensor one[] = {flat(index)};
  return batched_write(b, along(self, b.c.integer(1), index), one, full({}, b.c.scalar(3), plain(self), self.device()), false);
}

}  // namespace dyadic::inline v1::ops
