#include "ops/common.h"

namespace dyadic::inline v1::ops::roll_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  const IntList shifts = ints_of(a.arg(arg::shifts)), dims = ints_of(a.arg(arg::dims));
  if (dims.empty()) {
    DY_CHECK(shifts.size() == 1, "roll: one shift per dimension is needed: shifts is {}, dims is empty", shape_text(shifts));
    return reshape(roll(reshape(t, {-1}), shifts, {0}), t.sizes());
  }
  DY_CHECK(shifts.size() == dims.size(), "roll: one shift per dimension is needed: shifts is {}, dims is {}",
           shape_text(shifts), shape_text(dims));
  Tensor r = t;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = wrap_dim("roll", dims[i], t.dim()), n = t.dim() ? t.size(dim) : 0;
    if (n == 0) continue;
    const int64_t shift = (shifts[i] % n + n) % n;
    const Tensor parts[] = {narrow(r, dim, n - shift, shift), narrow(r, dim, 0, n - shift)};
    r = cat(parts, dim);
  }
  return r.is_same(t) ? clone(t) : r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "roll(Tensor self, int[] shifts, int[] dims=[]) -> Tensor",
    .doc =
        "The entries moved by shifts along dims, those pushed out at the end entering at the start; without dims the flattened "
        "tensor is rolled.",
    .kind = OpKind::composite,
    .samples =
        "roll(randn(2, 3), [1])\n"
        "roll(randn(3, 4), [-1, 5], [0, 1])\n"
        "roll(randn(0, 2), [1], [0])\n"
        "roll(randn(3), [0], [0])",
    .bad = "roll(zeros(2, 3), [1, 2], [0]) => roll: one shift per dimension is needed: shifts is [1, 2], dims is [0]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::roll_op
