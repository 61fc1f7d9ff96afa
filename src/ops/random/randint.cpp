#include "ops/random/generator.h"

namespace dyadic::inline v1::ops::randint_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c.integer(0) < c.integer(1), "randint: the range is empty: low is {}, high is {}", c.integer(0), c.integer(1));
  infer_creation(c, c.ints(2), 3, 4);
  if (!c.has(3)) c.spec[0].dtype = i64;
  check_holds_integers(c, c.integer(0), c.integer(1) - 1);
}
void forward(Call& c) {
  const uint64_t range = uint64_t(c.integer(1)) - uint64_t(c.integer(0));
  draw_integers(c, [&](Draw d, int64_t* v) { random_integers(d.seed, d.stream, c.out[0].numel(), c.integer(0), range, v); });
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "randint(int low, int high, int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Integers in [low, high), all equally likely; int64 unless given.",
    .samples = "randint(-3, 5, [2, 3])\nrandint(0, 2, [5], u8)",
    .infer = infer,
    .forward = forward,
    .workspace = integer_workspace,
    .random = true,
};

}  // namespace dyadic::inline v1::ops::randint_op
