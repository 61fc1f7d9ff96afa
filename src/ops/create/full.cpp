#include "ops/expected.h"

namespace dyadic::inline v1::ops::full_op {
namespace {

void infer(Call& c) {
  infer_creation(c, c[arg::size], 2, 3);
  Scalar v = c[arg::fill_value];
  if (!c.has(arg::dtype)) c.spec[0].dtype = number_dtype(dtype_of(v.kind()));
  expect_number("fill", v, c.spec[0].dtype);
}
void plan(Call& c) { plan_fill(c, c[arg::fill_value]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "full(int[] size, Scalar fill_value, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "A new tensor filled with one value; its dtype follows the value's kind unless given.",
    .samples = "full([2, 3], 2.5)\nfull([3], 7)\nfull([2], True)\nfull([5], -1, u8)\nfull([2, 64], 0.5, q8_0)",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::full_op
