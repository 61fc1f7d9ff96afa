// Optimizers' steps on a device against the host, bit for bit: every rule, formats of parameters and states, what rounding
// leaves, random rounding; gradients that lie anywhere; what is done to gradients before a step.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "dyadic/dyadic.h"
#include "dyadic/optim.h"
#include "optim/grad_ops.h"
#include "optim/update.h"
#include "tests/cuda/on_device.h"

namespace dyadic {
namespace {

using optim::Optimizer;
using optim::Options;

Options options_of(const std::vector<std::pair<const char*, const char*>>& given) {
  Options o;
  for (const auto& [name, value] : given) o.set(name, optim::read_option(value));
  return o;
}
struct Case {
  const char* optimizer;
  std::vector<std::pair<const char*, const char*>> options;
  bool exact = true;  // no sum over elements is a part of the step
};
const Case kRules[] = {
    {"SGD", {{"lr", "0.1"}, {"weight_decay", "0.01"}}},
    {"SGD", {{"lr", "0.1"}, {"momentum", "0.9"}, {"nesterov", "True"}}},
    {"Adam", {{"lr", "0.01"}, {"weight_decay", "0.1"}}},
    {"Adam", {{"amsgrad", "True"}}},
    {"AdamW", {{"lr", "0.01"}, {"maximize", "True"}}},
    {"Adamax", {}},
    {"NAdam", {}},
    {"RAdam", {}},
    {"Adagrad", {{"lr", "0.1"}}},
    {"RMSprop", {}},
    {"RMSprop", {{"momentum", "0.5"}}},
    {"RMSprop", {{"centered", "True"}}},
    {"RMSprop", {{"centered", "True"}, {"momentum", "0.5"}}},
    {"Adadelta", {}},
    {"Rprop", {}},
    {"ASGD", {}},
    {"Lion", {}},
    {"ScheduleFreeAdamW", {}},
    {"LAMB", {}, false},
    {"LARS", {}, false},
};
const Case kStates[] = {
    {"AdamW", {{"state", "\"dynamic8\""}}},
    {"Adam", {{"state", "\"dynamic8\""}, {"weight_decay", "0.1"}}},
    {"AdamW", {{"state", "\"dynamic8\""}, {"stochastic_rounding", "True"}}},
    {"Lion", {{"state", "\"dynamic8\""}}},
    {"AdamW", {{"state", "\"bf16\""}}},
    {"AdamW", {{"state", "\"f8e4m3fn\""}}},
    {"AdamW", {{"state", "\"i4(group=64)\""}}},
    {"AdamW", {{"stochastic_rounding", "True"}}},
    {"AdamW", {{"state", "\"bf16\""}, {"stochastic_rounding", "True"}}},
    {"AdamW", {{"compensation", "\"kahan\""}}},
    {"SGD", {{"momentum", "0.9"}, {"compensation", "\"f32\""}}},
};

class CudaOptim : public OnDevice {
 protected:
  // Parameters, states and counts after some steps.
  std::vector<Tensor> trained(const Case& c, DType dtype, Device device, bool odd) {
    manual_seed(7);
    nn::NamedTensors params;
    const std::vector<std::vector<int64_t>> shapes = {{20, 13}, {3}, {17, 250}};
    for (const auto& s : shapes) {
      Tensor p = randn(s).to(dtype).to(device);
      p.requires_grad_();
      params.emplace_back(std::to_string(params.size()), p);
    }
    Optimizer optimizer(c.optimizer, params, options_of(c.options));
    for (int step = 0; step < 2; ++step) {
      for (auto& [name, p] : params) {
        const Tensor g = randn({p.numel() + 1}).mul(0.1).to(dtype).to(device);
        p.set_grad(slice(g, 0, odd, odd + p.numel()).view(p.sizes()));
      }
      optimizer.step();
    }
    std::vector<Tensor> all;
    for (auto& [name, p] : params) all.push_back(p.detach());
    for (auto& [name, t] : optimizer.state_dict()) all.push_back(t);
    const optim::UpdateMeter m = optimizer.updates();
    all.push_back(tensor({double(m.nonzero), double(m.lost)}, f64));
    return all;
  }
  void compare(const Case& c, DType dtype, bool odd = false) {
    const std::vector<Tensor> here = trained(c, dtype, cpu, odd), far = trained(c, dtype, there, odd);
    ASSERT_EQ(here.size(), far.size());
    for (size_t i = 0; i < here.size(); ++i) {
      const Tensor a = here[i].to(f64), b = far[i].cpu().to(f64);
      EXPECT_TRUE(c.exact ? equal(a, b) : allclose(a, b, 1e-4, 1e-6))
          << c.optimizer << " " << (c.options.empty() ? "" : c.options[0].second) << " " << dtype.name() << ", tensor " << i;
    }
  }
};

TEST_F(CudaOptim, EveryRuleHasTheHostsBits) {
  for (const Case& c : kRules)
    for (const DType d : {f32, bf16, f64}) compare(c, d);
}

TEST_F(CudaOptim, StatesInEveryKindOfFormat) {
  for (const Case& c : kStates)
    for (const DType d : {f32, bf16, f16}) compare(c, d);
  compare({"SGD", {{"momentum", "0.9"}}}, f8e5m2);
  compare({"SGD", {{"lr", "0.1"}, {"stochastic_rounding", "True"}}}, f8e4m3fn);
}

TEST_F(CudaOptim, GradientsMayBeginAnywhere) {
  for (const DType d : {f32, bf16}) compare({"AdamW", {}}, d, true);
  compare({"AdamW", {{"state", "\"dynamic8\""}}}, bf16, true);
}

TEST_F(CudaOptim, GradientsAreClippedAndUnscaled) {
  for (const DType d : {f32, bf16, f16})
    for (const int64_t from : {0, 1}) {
      manual_seed(5);
      const Tensor g = randn({5000}).to(d), far = slice(g.to(there), 0, from), here = slice(g.clone(), 0, from);
      EXPECT_NEAR(optim::grad_squares(std::vector{far}), optim::grad_squares(std::vector{here}), 1e-8);
      EXPECT_EQ(optim::grad_unscale(std::vector{far}, 0.3), -1);
      EXPECT_EQ(optim::grad_unscale(std::vector{here}, 0.3), -1);
      EXPECT_TRUE(equal(far.cpu(), here)) << d.name();
      select(far, 0, 4000).fill_(INFINITY);
      EXPECT_EQ(optim::grad_unscale(std::vector{zeros({3}, d, there), far}, 1), 1);
    }
}

TEST_F(CudaOptim, NormsAreClippedWithoutReading) {
  for (const double p : {0.0, 1.0, 2.0, 3.0, double(INFINITY)}) {
    manual_seed(5);
    std::vector<Tensor> here, far;
    for (int k = 0; k < 130; ++k) here.push_back(randn({20})), far.push_back(here.back().to(there));
    const double norm = optim::total_norm(here, p);
    EXPECT_NEAR(optim::clip_in_calls(far, 0.5, p).item(), norm, 1e-6 * norm) << p;
    EXPECT_NEAR(optim::total_norm(far, p), p == 0 ? norm : 0.5, 1e-5) << p;
  }
}

}  // namespace
}  // namespace dyadic
