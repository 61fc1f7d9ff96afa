#include "ops/random/generator.h"

namespace dyadic::inline v1::ops::randperm_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c[arg::n] >= 0, "randperm: n is negative: {}", c[arg::n]);
  const int64_t size[] = {c[arg::n]};
  infer_creation(c, size, 1, 2);
  if (!c.has(arg::dtype)) c.spec[0].dtype = i64;
  check_holds_integers(c, 0, c[arg::n] - 1);
}
struct Numbers {
  const Format* format;
  int64_t count;
};
void run(const Numbers& p, const Pointers& at) {
  random_permutation(at.draw.seed, at.draw.stream, p.count, drawn_integers(p.format, at));
  store_integers(p.format, p.count, at);
}
void plan(Call& c) {
  const Operand out = c.result();
  c.plan.draws = true;
  c.plan.workspace = integer_workspace(out);
  c.plan.set<run>(Numbers{out.format, c[arg::n]});
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "randperm(int n, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "The integers below n in random order, int64 unless given.",
    .samples = "randperm(7)\nrandperm(0)\nrandperm(5, i32)",
    .bad = "randperm(-1) => randperm: n is negative: -1",
    .infer = infer,
    .random = true,
};
extern constexpr Kernel cpu = {.plan = plan};

}  // namespace dyadic::inline v1::ops::randperm_op
