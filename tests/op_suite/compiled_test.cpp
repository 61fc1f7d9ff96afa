// Calls inside of a compiled function, where all that can be put off is, whatever its size: the bits of eager calls, forward
// and backward, when they are recorded and when they match what was recorded.
#include <cmath>

#include "corridor/run.h"
#include "dyadic/compile.h"
#include "dyadic/generator.h"
#include "graph/fed.h"
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

struct PutOffAll {
  int64_t before = std::exchange(g_least_deferred, 1), least = std::exchange(graph::g_least_fed, 1),
          band = std::exchange(graph::g_band, 32);
  ~PutOffAll() { g_least_deferred = before, graph::g_least_fed = least, graph::g_band = band; }
};

struct Result {
  std::string error, out, gradients, generator;
  bool operator==(const Result&) const = default;
};
// Packed results may have bytes between their planes that nobody writes.
std::string values(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> all = tensors;
  for (Tensor& t : all)
    if (t.defined() && t.dtype().is_blocked() && !t.is_meta()) t = t.to(f32);
  return bits(all);
}
// A row of a band may be among those that a vector holds, or among the rest: where a NaN meets infinity times zero, the sign is
// that of the operand which the compiler put first in either.
std::string values_but_signs_of_nan(std::vector<Tensor> tensors) {
  const NoGrad guard;
  for (Tensor& t : tensors)
    if (t.defined() && !t.is_meta() && t.dtype().is_floating_point() && !t.dtype().is_blocked())
      t = where(isnan(t), full({}, std::nan(""), t.dtype()), t);
  return values(tensors);
}
Result call(Op op, const Case& c, const std::vector<Tensor>& inputs, bool compiled) {
  manual_seed(3);
  Result r;
  Outcome o;
  std::vector<Tensor> g;
  auto body = [&] {
    o = run(c, inputs);
    if (!o.failed() && differentiable(op_def(op))) g = gradients(c, inputs);
  };
  try {
    compiled ? dyadic::compile(body)() : body();
  } catch (const Error& e) { r.error = e.what(); }
  r.out = o.failed() ? o.error : values(o.out);
  r.gradients = bits(g);
  r.generator = bits({randn({4})});
  return r;
}

void check_compiled(Op op, DType dtype, Layout layout) {
  const PutOffAll all;
  std::vector<Case> some = cases(op);
  if (op_def(op).kind == OpKind::pointwise && dtype == f32 && layout == Layout::contiguous)
    for (Case& c : large_cases(op)) some.push_back(std::move(c));
  for (const Case& c : some) {
    SCOPED_TRACE(c.sample.line);
    const std::vector<Tensor> inputs = laid_out(make_inputs(c, dtype), layout);
    const Result eager = call(op, c, inputs, false);
    compared();
    // Twice by one function: recorded, then matched.
    manual_seed(3);
    Outcome o;
    auto f = dyadic::compile([&] { o = run(c, inputs); });
    for (int k = 0; k < 2; ++k) {
      manual_seed(3);
      f();
      EXPECT_TRUE((o.failed() ? o.error : values(o.out)) == eager.out) << (k ? "matched" : "recorded");
    }
    EXPECT_TRUE(call(op, c, inputs, true) == eager) << "with gradients";
  }
}

// Inputs that are put off themselves, which kernels that can read band by band.
void check_fed(Op op, DType dtype, Layout layout) {
  const PutOffAll all;
  for (const Case& c : cases(op)) {
    SCOPED_TRACE(c.sample.line);
    const std::vector<Tensor> inputs = laid_out(make_inputs(c, dtype), layout);
    Outcome o;
    auto body = [&] {
      manual_seed(3);
      std::vector<Tensor> made;
      for (const Tensor& t : inputs)
        made.push_back(t.defined() && t.dtype().is_floating_point() && !t.dtype().is_blocked() ? t * 1.5 : t);
      o = run(c, made);
      values(o.out);  // read within the function
    };
    auto seen = [&] { return o.failed() ? o.error : values_but_signs_of_nan(o.out); };
    body();
    const std::string eager = seen();
    compared();
    auto f = dyadic::compile(body);
    for (int k = 0; k < 3; ++k) {
      f();
      EXPECT_TRUE(seen() == eager) << "run " << k << "\n" << f.explain();
    }
  }
}

bool has_values(Op op, const OpDef&) { return op != Op::empty_ && op != Op::empty_like_; }
[[maybe_unused]] const bool kCompiledAdded =
    add_check({"compiled", {"f32", "bf16", "f64", "i64"}, {Layout::contiguous}, has_values, check_compiled});
[[maybe_unused]] const bool kStrided =
    add_check({"compiled", {"f32", "f16"}, {Layout::strided, Layout::expanded}, has_values, check_compiled});
bool is_kernel(Op op, const OpDef& def) { return def.kind == OpKind::kernel && has_values(op, def); }
[[maybe_unused]] const bool kFed = add_check({"fed", {"f32", "bf16", "f64"}, {Layout::contiguous}, is_kernel, check_fed});

}  // namespace
}  // namespace dyadic::op_suite
