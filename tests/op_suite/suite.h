// The op suite: records x dtypes x layouts x checks, as GoogleTest cases named op_suite.<op>/<dtype>/<layout>/<check>. What the
// checks share: the calls of an op, their inputs, comparing.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dyadic/ops.h"
#include "tests/op_suite/language.h"

namespace dyadic::op_suite {

// One call of an op that checks run.
struct Case {
  // broadcast: inputs of different shapes; empty: no elements, or 0-d; ties: values on a coarse grid (zeros, equal ones), where
  // gradients may not exist; special: NaN and infinities among the values.
  enum class Kind : uint8_t { plain, broadcast, empty, ties, special } kind = Kind::plain;
  Sample sample;
};
// From the record's samples, and generated from the signature for pointwise ops and reductions.
const std::vector<Case>& cases(Op op);
// The same calls with sizes multiplied, so that kernels cut their work; a call that does not fit any more is left out.
std::vector<Case> large_cases(Op op);

enum class Layout : uint8_t { contiguous, strided, transposed, expanded, offset, reversed };
const char* layout_name(Layout l);

// The tensor arguments of a call: the same values for every dtype, as far as it can hold them.
std::vector<Tensor> make_inputs(const Case& c, DType dtype);
// The same shape seen through other strides: every second entry of a larger tensor, dimensions stored in reverse order, the
// first entry repeated with stride 0, or dense at an odd address. Values differ from t's only for `expanded`.
Tensor laid_out(const Tensor& t, Layout l);
std::vector<Tensor> laid_out(const std::vector<Tensor>& tensors, Layout l);
std::vector<Tensor> each(const std::vector<Tensor>& tensors, Tensor (*f)(const Tensor&));

struct Outcome {
  std::vector<Tensor> out;
  std::string error;        // not empty: the call threw
  bool type_error = false;  // it threw TypeError
  bool failed() const { return !error.empty(); }
};
Outcome run(const Case& c, const std::vector<Tensor>& inputs);
Outcome run_inplace(const Case& c, const std::vector<Tensor>& inputs);  // out[0] is what was written

// Gradients of all float inputs for a fixed gradient of the first output (of all outputs where they are differentiable), given
// as values of output `j`. Empty when the result does not require grad.
using Upstream = std::vector<double> (*)(size_t j, int64_t n);
std::vector<double> normal_upstream(size_t j, int64_t n);
std::vector<Tensor> gradients(const Case& c, const std::vector<Tensor>& inputs, Upstream upstream = normal_upstream);

std::string bits(const Tensor& t);                     // dtype, shape and bytes: equal for equal tensors only
std::string bits(const std::vector<Tensor>& tensors);  // undefined ones included
// The call's inputs in f64, exactly: what the oracle computes with. Class numbers and masks stay what they are.
std::vector<Tensor> widened(const Case& c, const std::vector<Tensor>& inputs);
// Floats: |a - e| <= ulps * eps(dtype of a) * (|e| + the largest |e| or `largest`), NaN equals NaN, an infinity what overflows
// to it. Integers: e wrapped to a's dtype, exactly; bool: e is not zero.
::testing::AssertionResult close(const Tensor& actual, const Tensor& expected, double ulps, double largest = 0);

// Says that a check has held a call to something, as close() and same() do. A check that never does is a skipped test: it would
// pass whatever the op does.
void compared();

// Bit for bit; within 8 eps where the record skips layout_bits.
::testing::AssertionResult same(Op op, const Tensor& actual, const Tensor& expected);

// A call of the op whose line names a dtype or a device.
bool names_dtype(const Sample& s);
// eps of the result's dtype, relative to the result's largest value, that an op may be off by: pointwise results of narrow
// types are rounded once, f32 ones carry the error of its functions; sums and products of matrices that of their additions;
// compositions round at every step.
double allowance(const OpDef& def, DType d);

// Why the record says that a check does not apply; null if it does.
std::string skip_reason(Op op, std::string_view check);
bool differentiable(const OpDef& op);

struct Check {
  const char* name;
  std::vector<const char*> dtypes;
  std::vector<Layout> layouts;
  bool (*applies)(Op op, const OpDef& def);
  void (*body)(Op op, DType dtype, Layout layout);
  bool once = false;  // kOnce: it does not depend on the instruction set: left out where DYADIC_ISA lowers that
};
inline constexpr bool kOnce = true;
// Registers the check for every op it applies to; to be called before main. A skipped one is a test that says so.
bool add_check(const Check& check);
const std::vector<std::string>& check_names();

// Runs large calls with 1, 2, 3 and 7 threads.
void check_threads(Op op, DType dtype, Layout layout);

inline bool always(Op, const OpDef&) { return true; }

}  // namespace dyadic::op_suite
