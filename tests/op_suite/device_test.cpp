// Every op on a device, against the same call on the host: for pointwise ops bit for bit, with the instruction set whose
// arithmetic is the device's (AVX2's). Registered where a device is, which DYADIC_CUDA may say (tests/CMakeLists.txt runs them
// on the simulator). What has no kernel there goes by the host, so these checks hold whatever has one;
// tests/cuda/coverage_test.cpp says what does.
#include <algorithm>
#include <cmath>

#include "dyadic/cuda.h"
#include "tests/cuda/of_the_library.h"
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

const Device there() { return {DeviceType::cuda, 0}; }

std::vector<Tensor> brought(const std::vector<Tensor>& tensors, Device to) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(t.defined() ? t.to(to) : t);
  return out;
}
// The same strides there: an expanded tensor would come as a dense one.
std::vector<Tensor> inputs_there(const std::vector<Tensor>& dense, Layout layout) {
  return laid_out(brought(dense, there()), layout);
}
Outcome run_there(const Case& c, const std::vector<Tensor>& inputs) {
  Outcome result = run(c, inputs);
  if (result.failed()) return result;
  try {
    result.out = brought(result.out, cpu);  // what kernels have found wrong is said now
  } catch (const Error& e) {
    result.out.clear();
    result.error = e.what();
  }
  return result;
}

double largest_of(const Tensor& t) {
  double largest = 0;
  for (const double v : t.to_vector()) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
  return largest;
}

// summed: gradients of what was broadcast, whose sums have an order of their own.
void expect_alike(Op op, const Tensor& actual, const Tensor& expected, double factor, bool summed = false) {
  ASSERT_EQ(actual.defined(), expected.defined());
  if (!actual.defined()) return;
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.sizes(), expected.sizes());
  const OpDef& def = op_def(op);
  const bool real = actual.dtype().is_floating_point() || actual.dtype().is_complex();
  const bool near = actual.dtype() == f64 && is_of_the_library(op, f64);
  const bool exact = (def.kind == OpKind::pointwise && !summed && !near) || !real;
  // A card's Bessel functions are good to some 1e-12 of their largest values, near their zeros as elsewhere.
  EXPECT_TRUE(close(actual, expected, exact ? 0 : (near ? 1024 : 1) * factor * allowance(def, actual.dtype()),
                    actual.dtype().is_complex() ? 0 : largest_of(expected)));
}

void check_device(Op op, DType dtype, Layout layout) {
  NoGrad guard;
  const CpuFallback by_host;
  for (const Case& c : cases(op)) {
    SCOPED_TRACE(c.sample.line);
    const std::vector<Tensor> dense = make_inputs(c, dtype);
    const Outcome expected = run(c, laid_out(dense, layout)), actual = run_there(c, inputs_there(dense, layout));
    ASSERT_EQ(actual.failed(), expected.failed()) << actual.error << expected.error;
    if (actual.failed() || !skip_reason(op, "values").empty()) continue;
    ASSERT_EQ(actual.out.size(), expected.out.size());
    for (size_t j = 0; j < actual.out.size(); ++j) {
      SCOPED_TRACE(j);
      ASSERT_NO_FATAL_FAILURE(expect_alike(op, actual.out[j], expected.out[j], 1));
    }
    compared();
  }
}

void check_device_grad(Op op, DType dtype, Layout layout) {
  const CpuFallback by_host;
  for (const Case& c : cases(op)) {
    if (c.kind == Case::Kind::ties || c.kind == Case::Kind::special) continue;
    const std::vector<Tensor> dense = make_inputs(c, dtype);
    const std::vector<Tensor> here = laid_out(dense, layout);
    const bool any = std::any_of(here.begin(), here.end(), [](const Tensor& t) { return t.dtype().is_floating_point(); });
    if (!any || run(c, here).failed()) continue;
    SCOPED_TRACE(c.sample.line);
    const bool summed = std::any_of(here.begin(), here.end(), [&](const Tensor& t) { return t.sizes() != here[0].sizes(); });
    const std::vector<Tensor> expected = gradients(c, here), actual = gradients(c, inputs_there(dense, layout));
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
      SCOPED_TRACE(i);
      if (actual[i].defined()) { EXPECT_EQ(actual[i].device(), there()); }
      ASSERT_NO_FATAL_FAILURE(expect_alike(op, actual[i].defined() ? actual[i].to(cpu) : actual[i], expected[i], 2, summed));
    }
    compared();
  }
}

bool takes_grad(Op, const OpDef& def) { return differentiable(def); }

[[maybe_unused]] const bool kDeviceAdded =
    cuda::is_available() &&
    add_check({"cuda",
               {"f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8", "bool"},
               {Layout::contiguous, Layout::strided, Layout::transposed, Layout::expanded, Layout::offset},
               always,
               check_device}) &&
    add_check({"cuda_grad", {"f64", "f32", "bf16"}, {Layout::contiguous, Layout::transposed}, takes_grad, check_device_grad});

}  // namespace
}  // namespace dyadic::op_suite
