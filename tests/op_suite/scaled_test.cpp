// Scaled inputs: every op takes them, as if they had been decoded.
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

void check_scaled(Op op, DType dtype, Layout) {
  NoGrad guard;
  for (const Case& c : cases(op)) {
    if (c.kind == Case::Kind::special) continue;  // what codes make of NaN is the formats' business
    const std::vector<Tensor> inputs = make_inputs(c, f32);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!inputs[i].dtype().is_floating_point() || tensor_values(c.sample)[i]->wide) continue;
      SCOPED_TRACE(fmt::format("{}, input {}", c.sample.line, i));
      std::vector<Tensor> coded = inputs, decoded = inputs;
      coded[i] = inputs[i].to(dtype);
      decoded[i] = coded[i].to(f32);
      Outcome actual = run(c, coded), expected = run(c, decoded);
      if (actual.error.find("a block would be cut") != std::string::npos) continue;  // a view, in words
      ASSERT_EQ(actual.failed(), expected.failed()) << actual.error << expected.error;
      compared();
      if (actual.failed() || op_def(op).random) continue;
      for (size_t j = 0; j < actual.out.size(); ++j) {
        if (!expected.out[j].defined()) continue;
        const Tensor &a = actual.out[j], &e = expected.out[j];
        // A scaled result was moved as it is, or coded again in its new place.
        if (a.dtype().is_scaled() && close(a.to(f32), e.to(a.dtype()).to(f32), 0)) continue;
        EXPECT_TRUE(close(a.to(e.dtype()), e, 0)) << "output " << j;
      }
    }
  }
}

bool takes_tensors(Op op, const OpDef&) {
  for (const Parameter& p : signature(op).parameters)
    if (p.type.starts_with("Tensor")) return true;
  return false;
}
[[maybe_unused]] const bool kScaledAdded =
    add_check({"scaled", {"nf4(block=64)", "i4(group=32)"}, {Layout::contiguous}, takes_tensors, check_scaled});

}  // namespace
}  // namespace dyadic::op_suite
