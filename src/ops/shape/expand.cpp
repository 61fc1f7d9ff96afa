#include "ops/common.h"

namespace dyadic::inline v1::ops::expand_op {
namespace {

void view(Call& c) {
  const Tensor& t = c[arg::self];
  const TensorImpl& i = *t.impl();
  IntList size = c[arg::size];
  DY_CHECK(size.size() >= i.ndim && size.size() <= kMaxDims, "expand: the size has fewer dimensions: self is {}, the size {}",
           describe(t), shape_text(size));
  int64_t sizes[kMaxDims], strides[kMaxDims];
  size_t extra = size.size() - i.ndim;
  for (size_t d = 0; d < size.size(); ++d) {
    int64_t have = d < extra ? 1 : i.sizes[d - extra], want = size[d] == -1 && d >= extra ? have : size[d];
    DY_CHECK(want >= 0, "expand: a negative size: self is {}, the size {}; -1 keeps the size of a dimension that self has",
             describe(t), shape_text(size));
    DY_CHECK(have == want || have == 1, "expand: only dimensions of size 1 grow: self is {}, the size {}; dimension {} is {}",
             describe(t), shape_text(size), d, have);
    sizes[d] = want;
    strides[d] = d < extra || have == 1 ? 0 : i.strides[d - extra];
    if (have == want && d >= extra) strides[d] = i.strides[d - extra];
  }
  checked_numel("expand", {sizes, size.size()});
  c.out[0] = make_view(t, {sizes, size.size()}, {strides, size.size()}, i.offset);
}

void backward(Grad& g) { g.set(arg::self, g.g()); }  // the engine sums over what was broadcast

}  // namespace

extern constexpr OpDef record = {
    .sig = "expand(Tensor self, int[] size) -> Tensor",
    .doc = "A view in which dimensions of size 1 are repeated without copying; -1 keeps a size.",
    .kind = OpKind::view,
    .samples = "expand(randn(2, 1, 3), [4, 2, 5, 3])\nexpand(randn(2, 3), [-1, 3])\nexpand(randn(), [2])",
    .bad =
        "expand(zeros(2, 3), [2, 4]) => expand: only dimensions of size 1 grow: self is f32[2, 3], the size [2, 4]; dimension "
        "1 is 3\n"
        "expand(zeros(3), [3, -5]) => expand: a negative size: self is f32[3], the size [3, -5]; -1 keeps the size of a "
        "dimension that self has\n"
        "expand(zeros(1), [1099511627776, 1099511627776]) => expand: too large: [1099511627776, 1099511627776] has more "
        "elements than fit",
    .infer = infer_nothing,
    .view = view,
    .backward = backward,
};

}  // namespace dyadic::inline v1::ops::expand_op
