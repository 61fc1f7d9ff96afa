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
      if (actual.failed() || op_def(op).random) continue;
      for (size_t j = 0; j < actual.out.size(); ++j) {
        if (!expected.out[j].defined()) continue;
        Tensor e = expected.out[j];
        if (actual.out[j].dtype().is_scaled()) e = e.to(actual.out[j].dtype()).to(f32);  // moved or written, and coded again
        EXPECT_TRUE(close(actual.out[j].to(e.dtype()), e, 0)) << "output " << j;
      }
    }
  }
}

bool has_tensors(Op op, const OpDef&) {
  for (const Parameter& p : signature(op).parameters)
    if (p.type.starts_with("Tensor")) return true;
  return false;
}
[[maybe_unused]] const bool kAdded =
    add_check({"scaled", {"nf4(block=64)", "i4(group=32)"}, {Layout::contiguous}, has_tensors, check_scaled});

}  // namespace
}  // namespace dyadic::op_suite
