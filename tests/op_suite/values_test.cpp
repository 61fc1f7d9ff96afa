// Values: against the same op in f64, rounding, strides, broadcasting, in place.
#include <algorithm>

#include <cmath>

#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

using Kind = Case::Kind;
const std::vector<Layout> kDenseLayouts = {Layout::contiguous};
const std::vector<Layout> kOther = {Layout::strided, Layout::transposed, Layout::expanded, Layout::offset, Layout::reversed};
const std::vector<const char*> kAllTypes = {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "u64", "bool"};

bool any_tensors(Op op, const OpDef&) {
  for (const Parameter& p : signature(op).parameters)
    if (p.type.starts_with("Tensor")) return true;
  return false;
}

// The largest result of a pointwise op over its domain: what its errors are measured by. gelu_tanh of -3 is -0.0036, but made
// from 1 - 0.9988, so that its error is an eps of 1.
double scale_of(Op op) {
  double largest = 0;
  if (op_def(op).kind != OpKind::pointwise) return largest;
  for (const Case& c : cases(op)) {
    if (c.kind != Kind::plain) continue;
    const Outcome result = run(c, make_inputs(c, f64));
    if (result.failed()) break;  // an op on whole numbers
    for (double v : result.out.at(0).to_vector()) largest = std::max(largest, std::abs(v));
  }
  return largest;
}

// An op may refuse a dtype that is no float, by name; never a float. What f64 refuses, all refuse.
void check_values(Op op, DType dtype, Layout) {
  NoGrad guard;
  const double scale = scale_of(op);
  for (const Case& c : cases(op)) {
    SCOPED_TRACE(c.sample.line);
    std::vector<Tensor> inputs = make_inputs(c, dtype);
    const std::string before = bits(inputs);
    Outcome actual = run(c, inputs), expected = run(c, widened(c, inputs));
    if (dtype.is_integer() && !actual.failed() && expected.type_error)  // an op on whole numbers
      expected = run(c, each(inputs, [](const Tensor& t) { return t.to(i64); }));
    EXPECT_EQ(bits(inputs), before) << "the call wrote to its inputs";
    compared();
    if (!dtype.is_floating_point() && (actual.type_error || expected.type_error)) continue;
    if (dtype.is_integer() && actual.error.find("ZeroDivisionError") != std::string::npos) continue;  // floats have infinities
    ASSERT_EQ(actual.failed(), expected.failed()) << actual.error << expected.error;
    if (actual.failed() || op_def(op).random) continue;
    if (!dtype.is_floating_point() && !skip_reason(op, "integer_values").empty()) continue;
    // Where the result has the inputs' type in f64, it has it in every float type.
    const bool from_it = std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& t) { return t.dtype() == dtype; });
    const bool follows = from_it && dtype.is_floating_point() && !names_dtype(c.sample) && expected.out[0].dtype() == f64 &&
                         skip_reason(op, "result_dtype").empty();
    EXPECT_TRUE(!follows || actual.out[0].dtype() == dtype) << describe(actual.out[0]);
    for (size_t j = 0; j < actual.out.size(); ++j) {
      ASSERT_EQ(actual.out[j].defined(), expected.out[j].defined());
      if (!actual.out[j].defined()) continue;
      // Complex results of narrow floats are c64, their statistics f32: rounded no more than those of f32.
      const DType held = actual.out[j].dtype().is_complex() || actual.out[j].dtype() == f32 ? f32 : dtype;
      EXPECT_TRUE(close(actual.out[j], expected.out[j], allowance(op_def(op), held), scale)) << "output " << j;
    }
  }
}

// f16 and bf16 are decoded to f32, computed, and rounded once: the very bits of the f32 result rounded.
void check_rounding(Op op, DType dtype, Layout) {
  NoGrad guard;
  for (const Case& c : cases(op)) {
    SCOPED_TRACE(c.sample.line);
    std::vector<Tensor> inputs = make_inputs(c, dtype), in_f32;
    for (const Tensor& t : inputs) in_f32.push_back(t.dtype() == dtype ? t.to(f32) : t);
    Outcome narrow = run(c, inputs), wide = run(c, in_f32);
    ASSERT_EQ(narrow.failed(), wide.failed()) << narrow.error << wide.error;
    compared();
    if (narrow.failed()) continue;
    const Tensor &a = narrow.out[0], e = wide.out[0].to(a.dtype());
    EXPECT_TRUE(close(a, e, 0));
  }
}

// Strides and addresses decide how a result is computed, never what it is.
void check_layout(Op op, DType dtype, Layout layout) {
  NoGrad guard;
  for (const Case& c : cases(op)) {
    SCOPED_TRACE(c.sample.line);
    std::vector<Tensor> views = laid_out(make_inputs(c, dtype), layout),
                        dense = each(views, [](const Tensor& t) { return t.clone(); });
    Outcome expected = run(c, dense), actual = run(c, views);
    // A kernel may ask for dense inputs, in words, never take them for dense.
    if (actual.error.find("contiguous") != std::string::npos) continue;
    if (actual.error.find("the strides do not allow it") != std::string::npos) continue;  // view
    ASSERT_EQ(actual.failed(), expected.failed()) << actual.error << expected.error;
    compared();
    if (expected.failed()) continue;
    for (size_t j = 0; j < actual.out.size(); ++j) {
      if (expected.out[j].defined()) { EXPECT_TRUE(same(op, actual.out[j], expected.out[j])) << "output " << j; }
    }
  }
}

bool on_whole_numbers(const OpDef& def) { return !def.pw.in(Compute::f32); }

// A call on tensors of several shapes is the call on all of them expanded.
void check_broadcast(Op op, DType dtype, Layout) {
  NoGrad guard;
  for (const Case& c : cases(op)) {
    if (c.kind != Kind::broadcast && c.kind != Kind::empty) continue;
    SCOPED_TRACE(c.sample.line);
    std::vector<Tensor> inputs = make_inputs(c, dtype);
    Outcome actual = run(c, inputs);
    compared();
    if (actual.type_error && (!dtype.is_floating_point() || on_whole_numbers(op_def(op)))) continue;
    ASSERT_FALSE(actual.failed()) << actual.error;
    std::vector<Tensor> expanded;
    for (const Tensor& t : inputs) expanded.push_back(t.expand(actual.out[0].sizes()).clone());
    Outcome expected = run(c, expanded);
    ASSERT_FALSE(expected.failed()) << expected.error;
    EXPECT_TRUE(bits(actual.out) == bits(expected.out)) << close(actual.out[0], expected.out[0], 0).message();
  }
}

// name_ writes the out-of-place result into its first argument, whatever its strides, and says so to the version counter; where
// the result does not fit, it writes nothing.
void check_inplace(Op op, DType dtype, Layout layout) {
  NoGrad guard;
  for (const Case& c : cases(op)) {
    SCOPED_TRACE(c.sample.line);
    std::vector<Tensor> inputs = make_inputs(c, dtype), views = inputs;
    for (Tensor& t : views) t = t.clone();
    views[0] = laid_out(views[0].clone(), layout);
    if (layout == Layout::expanded) continue;  // one element under many: not to be written to
    const std::string before = bits(views);
    const uint32_t version = views[0].version();
    Outcome expected = run(c, inputs), actual = run_inplace(c, views);
    const bool fits =
        !expected.failed() && expected.out[0].sizes() == inputs[0].sizes() && expected.out[0].dtype() == inputs[0].dtype();
    compared();
    if (actual.failed()) {
      EXPECT_FALSE(fits) << actual.error;
      EXPECT_EQ(bits(views), before) << "a call that failed wrote";
      continue;
    }
    ASSERT_FALSE(expected.failed()) << expected.error;
    EXPECT_GT(views[0].version(), version);
    EXPECT_TRUE(bits(views[0]) == bits(expected.out[0].to(dtype))) << close(views[0], expected.out[0], 0).message();
  }
}

bool is_pointwise(Op, const OpDef& def) { return def.kind == OpKind::pointwise; }
bool several_inputs(Op, const OpDef& def) { return def.kind == OpKind::pointwise && def.pw.inputs > 1; }
bool has_inplace(Op, const OpDef& def) { return def.inplace; }

[[maybe_unused]] const bool kValuesAdded =
    add_check({"values", kAllTypes, kDenseLayouts, always, check_values}) &&
    add_check({"rounding", {"f16", "bf16"}, kDenseLayouts, is_pointwise, check_rounding}) &&
    add_check({"layout", {"f64", "f32", "f16", "bf16", "i64"}, kOther, any_tensors, check_layout}) &&
    add_check({"broadcast", kAllTypes, kDenseLayouts, several_inputs, check_broadcast}) &&
    add_check({"inplace",
               {"f64", "f32", "f16", "bf16", "i64", "u8"},
               {Layout::contiguous, Layout::strided, Layout::transposed, Layout::offset},
               has_inplace,
               check_inplace});

}  // namespace
}  // namespace dyadic::op_suite
