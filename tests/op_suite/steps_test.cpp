// Calls and their gradients as a whole step that runs again without its program, on other memory each time: the bits of eager
// ones. Whether it does run again is not asked here: what reads values runs its program.
#include "corridor/call.h"
#include "dyadic/autograd.h"
#include "dyadic/compile.h"
#include "dyadic/generator.h"
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

std::vector<Tensor> call(const Case& c, const std::vector<Tensor>& inputs) {
  CallFrame frame(c.sample, inputs);
  std::vector<Arg> args = frame.arguments();
  return call_op_all(c.sample.op, args.data(), int(args.size()));
}

// What the call gives, and gradients of the inputs for a fixed one of the first result.
std::vector<Tensor> body(Op op, const Case& c, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> out = call(c, inputs);
  if (differentiable(op_def(op))) {
    std::vector<Tensor> leaves = inputs, wanted;
    for (Tensor& t : leaves)
      if (t.defined() && t.dtype().is_floating_point()) wanted.push_back(t = t.clone().requires_grad_());
    const std::vector<Tensor> again = call(c, leaves);
    if (!wanted.empty() && !again.empty() && again[0].defined() && again[0].requires_grad())
      for (Tensor& g : grad({again[0]}, wanted, {ones_like(again[0]) * 0.5}, false, false, true)) out.push_back(std::move(g));
  }
  for (Tensor& t : out)
    if (t.defined() && t.dtype().is_blocked()) t = t.to(f32);
  return out;
}

void check_steps(Op op, DType dtype, Layout layout) {
  for (const Case& c : cases(op)) {
    SCOPED_TRACE(c.sample.line);
    auto step = dyadic::compile([&](const std::vector<Tensor>& in) { return body(op, c, in); }, {.mode = "reduce-overhead"});
    for (int k = 0; k < 5; ++k) {
      std::vector<Tensor> inputs = laid_out(make_inputs(c, dtype), layout);
      // Two runs that are recorded and two without the program; then, on the same memory, other values.
      if (k == 4)
        for (const Tensor& t : inputs)
          if (t.defined() && t.dtype().is_floating_point() && layout == Layout::contiguous) t.mul_(0.75);
      std::string eager, error, got;
      try {
        manual_seed(3);
        eager = bits(body(op, c, inputs)) + bits(randn({2}));
      } catch (const Error& e) { error = e.what(); }
      try {
        manual_seed(3);
        got = bits(step(inputs)) + bits(randn({2}));
      } catch (const Error& e) {
        EXPECT_EQ(std::string(e.what()), error);
        continue;
      }
      compared();
      ASSERT_TRUE(got == eager) << "run " << k << "\n" << step.explain();
    }
  }
}

bool has_steps(Op op, const OpDef&) { return op != Op::empty_ && op != Op::empty_like_; }
[[maybe_unused]] const bool kStepsAdded =
    add_check({"steps", {"f32", "bf16"}, {Layout::contiguous, Layout::strided}, has_steps, check_steps, kOnce});

}  // namespace
}  // namespace dyadic::op_suite
