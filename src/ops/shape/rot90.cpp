#include "ops/common.h"

namespace dyadic::inline v1::ops::rot90_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  const int64_t plane[2] = {0, 1};
  const IntList dims = !a.has(arg::dims) ? IntList(plane) : ints_of(a.arg(arg::dims));
  DY_CHECK(dims.size() == 2 && t.dim() >= 2, "rot90: two dimensions make the plane: self is {}, dims is {}", describe(t),
           shape_text(dims));
  const int64_t x = wrap_dim("rot90", dims[0], t.dim()), y = wrap_dim("rot90", dims[1], t.dim());
  DY_CHECK(x != y, "rot90: a dimension is named twice: dims is {}", shape_text(dims));
  switch ((a[arg::k] % 4 + 4) % 4) {
    case 1:
      return transpose(flip(t, {y}), x, y);
    case 2:
      return flip(t, {x, y});
    case 3:
      return transpose(flip(t, {x}), x, y);
    default:
      return clone(t);
  }
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "rot90(Tensor self, int k=1, int[]? dims=None) -> Tensor",
    .doc = "Rotated by k quarter turns in the plane of two dimensions, from the first towards the second (0 and 1 if absent).",
    .kind = OpKind::composite,
    .samples =
        "rot90(randn(2, 3))\n"
        "rot90(randn(2, 3), 2)\n"
        "rot90(randn(2, 3, 2), -1, [1, 2])\n"
        "rot90(randn(2, 2), 0)",
    .bad = "rot90(zeros(2, 3), 1, [0, 0]) => rot90: a dimension is named twice: dims is [0, 0]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::rot90_op
