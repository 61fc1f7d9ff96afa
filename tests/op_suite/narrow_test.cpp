// Floats of 8, 6 and 4 bits: every op takes them, computes in f32 and rounds its results once.
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

Tensor as_f32(const Tensor& t) { return t.dtype().is_floating_point() && t.dtype() != f64 ? t.to(f32) : t; }

void check_narrow(Op op, DType dtype, Layout layout) {
  NoGrad guard;
  for (const Case& c : cases(op)) {
    if (c.kind == Case::Kind::special) continue;  // what codes make of NaN is the formats' business
    SCOPED_TRACE(c.sample.line);
    std::vector<Tensor> inputs = make_inputs(c, dtype);
    if (layout != Layout::contiguous) inputs = laid_out(inputs, layout);
    const Outcome actual = run(c, inputs), expected = run(c, each(inputs, as_f32));
    if (actual.error.find("stride") != std::string::npos) continue;  // as_f32 is dense
    ASSERT_EQ(actual.failed(), expected.failed()) << actual.error << expected.error;
    compared();
    if (actual.failed() || op_def(op).random) continue;
    for (size_t j = 0; j < actual.out.size(); ++j) {
      if (!expected.out[j].defined()) continue;
      const Tensor &a = actual.out[j], &e = expected.out[j];
      EXPECT_EQ(a.sizes(), e.sizes()) << "output " << j;
      if (op_def(op).kind == OpKind::composite) continue;  // rounds at every step
      // Kernels that add in the order of the strides see others in the dense f32 copies.
      const bool reordered = layout != Layout::contiguous && !skip_reason(op, "layout_bits").empty();
      EXPECT_TRUE(close(reordered ? a : a.to(f32), reordered ? e : e.to(a.dtype()).to(f32), reordered ? 0.6 : 0))
          << "output " << j << " " << a.str() << e.str();
    }
  }
}

bool has_tensors(Op op, const OpDef&) {
  for (const Parameter& p : signature(op).parameters)
    if (p.type.starts_with("Tensor")) return true;
  return false;
}
[[maybe_unused]] const bool kNarrowAdded = add_check({"narrow",
                                                      {"f8e4m3fn", "f8e5m2", "f6e3m2fn", "f4e2m1fn"},
                                                      {Layout::contiguous, Layout::transposed},
                                                      has_tensors,
                                                      check_narrow});

}  // namespace
}  // namespace dyadic::op_suite
