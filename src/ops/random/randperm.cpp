#include "ops/random/generator.h"

namespace dyadic::inline v1::ops {
namespace {

void infer(Call& c) {
  DY_CHECK(c.integer(0) >= 0, "randperm: n is negative: {}", c.integer(0));
  const int64_t size[] = {c.integer(0)};
  infer_creation(c, size, 1, 2);
  if (!c.has(1)) c.spec[0].dtype = i64;
}
int64_t workspace(const Call& c) { return c.spec[0].dtype == i64 ? 0 : c.spec[0].numel() * 8; }
void forward(Call& c) {
  const Draw d = next_draw();
  const bool direct = c.spec[0].dtype == i64;
  auto* v = direct ? c.out[0].data<int64_t>() : static_cast<int64_t*>(c.workspace);
  random_permutation(d.seed, d.stream, c.integer(0), v);
  if (!direct) assign(c.out[0], make_over(v, c.out[0].sizes(), i64));
}

}  // namespace

extern constexpr OpDef randperm_op = {
    .sig = "randperm(int n, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "The integers below n in random order, int64 unless given.",
    .samples = "randperm(7)\nrandperm(0)\nrandperm(5, i32)",
    .bad = "randperm(-1) => randperm: n is negative: -1",
    .infer = infer,
    .forward = forward,
    .workspace = workspace,
    .random = true,
};

}  // namespace dyadic::inline v1::ops
