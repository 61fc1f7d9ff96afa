// Gradients: against differences, of themselves, in narrow types, through strides and in-place calls.
#include <cmath>

#include "dyadic/autograd.h"
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

using Kind = Case::Kind;

// Complex numbers as pairs.
Tensor real_of(const Tensor& t) { return t.dtype().is_complex() ? view_as_real(t) : t; }
bool finite(const std::vector<Tensor>& tensors) {
  for (double v : real_of(tensors.at(0)).to_vector())
    if (!std::isfinite(v)) return false;
  return true;
}
bool smooth(const Case& c) { return c.kind != Kind::ties && c.kind != Kind::special; }
int64_t elements(const std::vector<Tensor>& tensors) {
  int64_t n = 0;
  for (const Tensor& t : tensors) n = std::max(n, t.numel());
  return n;
}
bool any_float(const std::vector<Tensor>& tensors) {
  for (const Tensor& t : tensors)
    if (t.dtype().is_floating_point()) return true;
  return false;
}
std::vector<Tensor> requiring_grad(std::vector<Tensor> inputs) {
  for (Tensor& t : inputs)
    if (t.dtype().is_floating_point()) t.requires_grad_();
  return inputs;
}
std::vector<Tensor> floats_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors)
    if (t.requires_grad()) out.push_back(t);
  return out;
}
// The outputs of a call that gradients flow from.
std::vector<Tensor> roots(const Case& c, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> out;
  for (const Tensor& t : CallFrame(c.sample, inputs).run()) {
    if (t.defined() && t.requires_grad()) out.push_back(real_of(t));
    if (!skip_reason(c.sample.op, "second_output").empty()) break;
  }
  return out;
}

// Calls on at most so many elements, since differences cost a call per element; the smallest where there is none.
std::vector<Case> small_cases(Op op, int64_t most) {
  std::vector<Case> fit;
  const Case* least = nullptr;
  int64_t of_least = 3000;  // more would take minutes
  for (const Case& c : cases(op)) {
    const std::vector<Tensor> inputs = make_inputs(c, f64);
    if (!smooth(c) || !any_float(inputs) || run(c, inputs).failed()) continue;
    const int64_t n = elements(inputs);
    if (n <= most)
      fit.push_back(c);
    else if (n < of_least)
      least = &c, of_least = n;
  }
  if (fit.empty() && least) fit.push_back(*least);
  return fit;
}

void check_gradcheck(Op op, DType, Layout) {
  for (const Case& c : small_cases(op, 150)) {
    std::vector<Tensor> inputs = make_inputs(c, f64);
    SCOPED_TRACE(c.sample.line);
    inputs = requiring_grad(inputs);
    if (real_of(run(c, inputs).out[0]).dtype() != f64) continue;  // a cast: differences drown in its rounding
    if (!finite(run(c, inputs).out)) continue;                    // the variance of one value
    ASSERT_FALSE(roots(c, inputs).empty()) << "no result requires grad";
    EXPECT_NO_THROW(gradcheck([&](const std::vector<Tensor>& x) { return roots(c, x); }, inputs));
    compared();
  }
}

// The gradient itself, as a function of inputs and incoming gradient, is differentiable.
void check_double(Op op, DType, Layout) {
  for (const Case& c : small_cases(op, 30)) {
    std::vector<Tensor> inputs = make_inputs(c, f64);
    if (!finite(run(c, inputs).out)) continue;
    SCOPED_TRACE(c.sample.line);
    inputs = requiring_grad(inputs);
    const size_t n = inputs.size();
    std::vector<Tensor> out = roots(c, inputs);
    if (out.empty()) continue;  // gradcheck says so
    for (const Tensor& t : out) inputs.push_back(randn(t.sizes(), f64).requires_grad_());
    auto gradient = [&](const std::vector<Tensor>& x) {
      std::vector<Tensor> call(x.begin(), x.begin() + int64_t(n)), seeds(x.begin() + int64_t(n), x.end()), wanted;
      for (const Tensor& t : call)
        if (t.requires_grad()) wanted.push_back(t);
      return grad(roots(c, call), wanted, seeds, false, true, true);
    };
    EXPECT_NO_THROW(gradcheck(gradient, inputs, 1e-5, 1e-4, 1e-3));
    compared();
  }
}

// The largest gradient of a pointwise op over its domain: what errors are measured by. tanh's 1 - y y is made from a rounded y.
double scale_of(Op op, const std::vector<Tensor>& like) {
  double largest = 0;
  if (op_def(op).kind != OpKind::pointwise) return largest;
  for (const Case& c : cases(op))
    if (c.kind == Kind::plain && like.size() == tensor_values(c.sample).size())
      for (const Tensor& g : gradients(c, make_inputs(c, f64)))
        for (double v : g.defined() ? g.to_vector() : std::vector<double>()) largest = std::max(largest, std::abs(v));
  return largest;
}

// The gradient in a narrow type against the one in f64, and through other strides against the dense one, bit for bit.
void check_grad(Op op, DType dtype, Layout layout) {
  for (const Case& c : cases(op)) {
    std::vector<Tensor> views = laid_out(make_inputs(c, dtype), layout),
                        dense = each(views, [](const Tensor& t) { return t.clone(); });
    if (!smooth(c) || !any_float(views) || run(c, views).failed()) continue;
    SCOPED_TRACE(c.sample.line);
    std::vector<Tensor> expected = gradients(c, layout == Layout::contiguous ? widened(c, dense) : dense),
                        actual = gradients(c, views);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      ASSERT_EQ(actual[i].defined(), expected[i].defined()) << "input " << i;
      if (!actual[i].defined()) continue;
      if (layout == Layout::contiguous) {
        EXPECT_TRUE(close(actual[i], expected[i], dtype == f32 ? 32 : 4, scale_of(op, views))) << "input " << i;
      } else {
        EXPECT_TRUE(same(op, actual[i], expected[i])) << "input " << i;
      }
    }
  }
}

// Gradients through name_ are those of the op.
void check_inplace_grad(Op op, DType, Layout) {
  for (const Case& c : cases(op)) {
    std::vector<Tensor> inputs = make_inputs(c, f64);
    if (!smooth(c) || run(c, inputs).failed() || !(run(c, inputs).out[0].sizes() == inputs[0].sizes())) continue;
    SCOPED_TRACE(c.sample.line);
    std::vector<Tensor> leaves = inputs, call;
    for (Tensor& t : leaves) t = t.clone();
    leaves = requiring_grad(leaves);
    call = leaves;
    call[0] = mul(leaves[0], 1.0);  // a leaf is not written to
    ASSERT_EQ(run_inplace(c, call).error, "");
    const std::vector<Tensor> seed = {ones(call[0].sizes(), f64)};
    std::vector<Tensor> actual = grad({&call[0], 1}, floats_of(leaves), seed, false, false, true);
    std::vector<Tensor> twin = requiring_grad(each(inputs, [](const Tensor& t) { return t.clone(); }));
    Tensor out = CallFrame(c.sample, twin).run()[0];
    std::vector<Tensor> expected = grad({&out, 1}, floats_of(twin), seed, false, false, true);
    ASSERT_FALSE(actual.empty());
    for (size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(bits(actual[i]) == bits(expected[i])) << "input " << i;
    compared();
  }
}

bool has_gradient(Op, const OpDef& def) { return differentiable(def); }
bool inplace_grad(Op, const OpDef& def) { return def.inplace && differentiable(def); }
const std::vector<Layout> kDense = {Layout::contiguous};

[[maybe_unused]] const bool kGradientAdded =
    add_check({"gradcheck", {"f64"}, kDense, has_gradient, check_gradcheck, kOnce}) &&
    add_check({"double_backward", {"f64"}, kDense, has_gradient, check_double, kOnce}) &&
    add_check({"grad",
               {"f32", "f16", "bf16"},
               {Layout::contiguous, Layout::strided, Layout::transposed, Layout::expanded, Layout::offset},
               has_gradient,
               check_grad}) &&
    add_check({"inplace_grad", {"f64"}, kDense, inplace_grad, check_inplace_grad});

}  // namespace
}  // namespace dyadic::op_suite
