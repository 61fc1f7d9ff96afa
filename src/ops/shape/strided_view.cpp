#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::strided_view_op {
namespace {

void view(Call& c) {
  const Tensor& t = c[arg::self];
  const IntList size = c[arg::size], stride = c[arg::stride];
  DY_CHECK(size.size() == stride.size() && size.size() <= kMaxDims, "as_strided: size and stride differ in length: {} and {}",
           shape_text(size), shape_text(stride));
  DY_CHECK_AS(TypeError, !t.dtype().is_blocked(), "as_strided: {} has no strides over bytes; convert with .to first",
              describe(t));
  int64_t first = c[arg::storage_offset], last = first, way = 0;
  const bool empty = checked_numel("as_strided", size) == 0;
  bool fits = first >= 0;
  for (size_t d = 0; d < size.size() && fits && !empty; ++d) {
    int64_t& end = stride[d] < 0 ? first : last;
    fits = !__builtin_mul_overflow(size[d] - 1, stride[d], &way) && !__builtin_add_overflow(end, way, &end);
  }
  const int64_t room = t.impl()->storage->bytes / t.dtype().itemsize();
  DY_CHECK(fits && (empty || (first >= 0 && last < room)),
           "as_strided: it reaches outside of the storage: size is {}, stride is {}, storage_offset is {}, the storage has {} "
           "elements",
           shape_text(size), shape_text(stride), c[arg::storage_offset], room);
  c.out[0] = make_view(t, size, stride, c[arg::storage_offset]);
}
// Where in the storage each element lies, as an int64 tensor.
Tensor places(IntList size, IntList stride, int64_t offset, Device device) {
  Tensor at = full(std::vector<int64_t>(size.size(), 1), offset, i64, device);
  for (size_t d = 0; d < size.size(); ++d) {
    std::vector<int64_t> shape(size.size(), 1);
    shape[d] = size[d];
    at = add(at, view(mul(arange(0, size[d], 1, i64, device), stride[d]), shape));
  }
  return reshape(at, {-1});
}
int64_t end_of(IntList size, IntList stride, int64_t offset) {
  for (size_t d = 0; d < size.size(); ++d) offset += size[d] && stride[d] > 0 ? (size[d] - 1) * stride[d] : 0;
  return offset + 1;
}
bool row_major(IntList size, IntList stride) {
  int64_t n = 1;
  bool dense = true;
  for (size_t d = size.size(); d-- > 0; n *= size[d]) dense &= size[d] == 1 || stride[d] == n;
  return dense;
}
// Elements of the result go back to the element of self at their place; those that self does not show have none.
void backward(Grad& g) {
  if (row_major(g.in_meta(arg::self).shape(), g[arg::self_stride]) && apart(g[arg::size], g[arg::stride]))
    return g.set(arg::self,
                 call(Op::strided_scatter_, zeros(g.in_meta(arg::self).shape(), g.g().dtype(), g.in_meta(arg::self).device),
                      g.g(), g[arg::size], g[arg::stride], g[arg::storage_offset] - g[arg::self_offset]));
  const Meta& m = g.in_meta(arg::self);
  const IntList size = g[arg::size], stride = g[arg::stride], own = g[arg::self_stride];
  int64_t n = 1;
  for (int64_t s : m.shape()) n *= s;
  const int64_t room = std::max(end_of(size, stride, g[arg::storage_offset]), end_of(m.shape(), own, g[arg::self_offset]));
  const Tensor owner = scatter(full({room}, n, i64, m.device), 0, places(m.shape(), own, g[arg::self_offset], m.device),
                               arange(0, n, 1, i64, m.device));
  const Tensor to = index_select(owner, 0, places(size, stride, g[arg::storage_offset], m.device));
  g.set(arg::self,
        narrow(index_add(zeros({n + 1}, g.g().dtype(), m.device), 0, to, reshape(g.g(), {-1})), 0, 0, n).reshape(m.shape()));
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "strided_view(Tensor self, int[] size, int[] stride, int storage_offset, int[] self_stride, int self_offset) -> Tensor",
    .doc = "as_strided, with the strides and the offset that self has, which its gradient needs.",
    .kind = OpKind::view,
    .internal = true,
    .samples = "strided_view(randn(2, 3), [3, 2], [1, 3], 0, [3, 1], 0)",
    .skip =
        "layout: it shows the storage, not the tensor\n"
        "grad: it shows the storage, not the tensor\n"
        "narrow: it shows the storage, not the tensor\n"
        "scaled: it shows the storage, not the tensor",
    .infer = infer_nothing,
    .view = view,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::strided_view_op
