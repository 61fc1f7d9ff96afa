// Autocast: what runs in which dtype, as the records say.
#include "dyadic/amp.h"
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

// Of f32 inputs a `lower` op makes bf16, of bf16 inputs an `f32` op makes f32; the others keep what they are given. f64 is left
// alone by all.
void check_autocast(Op op, DType dtype, Layout) {
  NoGrad guard;
  const Amp policy = op_def(op).amp;
  for (const Case& c : cases(op)) {
    SCOPED_TRACE(c.sample.line);
    std::vector<Tensor> inputs = make_inputs(c, dtype);
    Outcome plain = run(c, inputs);
    if (plain.failed() || !(plain.out[0].dtype() == dtype)) continue;  // masks, numbers of classes
    Outcome cast;
    {
      Autocast scope(bf16);
      cast = run(c, inputs);
    }
    ASSERT_FALSE(cast.failed()) << cast.error;
    const DType expected = dtype == f64 ? f64 : policy == Amp::lower ? bf16 : policy == Amp::f32 ? f32 : dtype;
    EXPECT_EQ(cast.out[0].dtype().name(), expected.name());
    EXPECT_TRUE(cast.out[0].sizes() == plain.out[0].sizes());
  }
}

bool has_policy(Op op, const OpDef& def) {
  for (const Parameter& p : signature(op).parameters)
    if (p.type.starts_with("Tensor")) return def.kind == OpKind::pointwise || def.kind == OpKind::kernel;
  return false;
}
[[maybe_unused]] const bool kAdded =
    add_check({"autocast", {"f32", "bf16", "f64"}, {Layout::contiguous}, has_policy, check_autocast, kOnce});

}  // namespace
}  // namespace dyadic::op_suite
