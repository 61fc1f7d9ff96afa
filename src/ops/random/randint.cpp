#include "ops/random/generator.h"

namespace dyadic::inline v1::ops::randint_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c[arg::low] < c[arg::high], "randint: the range is empty: low is {}, high is {}", c[arg::low], c[arg::high]);
  infer_creation(c, c[arg::size], 3, 4);
  if (!c.has(arg::dtype)) c.spec[0].dtype = i64;
  check_holds_integers(c, c[arg::low], c[arg::high] - 1);
}
struct Range {
  const Format* format;
  int64_t count, low;
  uint64_t size;
};
void run(const Range& p, const Pointers& at) {
  random_integers(at.draw.seed, at.draw.stream, p.count, p.low, p.size, drawn_integers(p.format, at));
  store_integers(p.format, p.count, at);
}
void plan(Call& c) {
  const Operand out = c.result();
  c.plan.draws = true;
  c.plan.workspace = integer_workspace(out);
  c.plan.set<run>(Range{out.format, out.count, c[arg::low], uint64_t(c[arg::high]) - uint64_t(c[arg::low])});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "randint(int low, int high, int[] size, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "Integers in [low, high), all equally likely; int64 unless given.",
    .samples = "randint(-3, 5, [2, 3])\nrandint(0, 2, [5], u8)",
    .infer = infer,
    .random = true,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::randint_op
