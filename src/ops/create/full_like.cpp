#include "corridor/batching.h"
#include "ops/expected.h"

namespace dyadic::inline v1::ops::full_like_op {
namespace {

void infer(Call& c) {
  infer_like_other(c, 2, 3);
  expect_number("fill", c[arg::fill_value], c.spec[0].dtype);
}
void plan(Call& c) { plan_fill(c, c[arg::fill_value]); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "One value in the shape, dtype and device of self.",
    .samples = "full_like(randn(2, 3), 1.5)",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan, .blocked = in(0)};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::full_like_op
