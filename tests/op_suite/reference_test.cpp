// The plain kernels (the column `reference`: one lane, no blocks, no threads of their own) as an oracle for the machine's.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "corridor/call.h"
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

// Pointwise ones are the same formulas on one lane, so an instruction set without fused multiply-adds gives their very numbers.
// Where there are some, each step may round once less; what adds has another order.
void check_reference(Op op, DType dtype, Layout layout) {
  NoGrad guard;
  const OpDef& def = op_def(op);
  for (const Case& c : cases(op)) {
    SCOPED_TRACE(c.sample.line);
    const std::vector<Tensor> inputs =
        layout == Layout::contiguous ? make_inputs(c, dtype) : laid_out(make_inputs(c, dtype), layout);
    const Outcome actual = run(c, inputs);
    Outcome expected;
    {
      const ModeScope plain(kReference, 0);
      expected = run(c, inputs);
    }
    ASSERT_EQ(actual.error, expected.error);
    if (actual.failed()) continue;
    double largest = 0;
    for (const double v : expected.out[0].to_vector()) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
    compared();
    for (size_t j = 0; j < actual.out.size(); ++j) {
      ASSERT_EQ(actual.out[j].dtype(), expected.out[j].dtype());
      ASSERT_EQ(actual.out[j].sizes(), expected.out[j].sizes());
      const bool exact = def.kind == OpKind::pointwise && isa() == Isa::sse4;
      const DType given = actual.out[j].dtype();
      if (exact || !(given.is_floating_point() || given.is_complex()))
        EXPECT_TRUE(close(actual.out[j], expected.out[j], 0)) << "output " << j;  // a NaN is a NaN, whatever its sign
      else
        EXPECT_TRUE(close(actual.out[j], expected.out[j], allowance(def, actual.out[j].dtype()), largest)) << "output " << j;
    }
  }
}

bool has_reference(Op op, const OpDef&) { return reference_kernel(op) != nullptr; }
[[maybe_unused]] const bool kReferenceAdded = add_check({"reference",
                                                         {"f64", "f32", "f16", "bf16", "i64", "i32", "u8", "bool"},
                                                         {Layout::contiguous, Layout::strided, Layout::transposed},
                                                         has_reference,
                                                         check_reference});

}  // namespace
}  // namespace dyadic::op_suite
