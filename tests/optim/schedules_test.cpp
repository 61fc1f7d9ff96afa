// Schedules from C++: what tests/python/test_optim_schedules.py checks against PyTorch, here in closed forms.
#include "dyadic/lr_scheduler.h"

#include <gtest/gtest.h>

#include <cmath>

#include "dyadic/dyadic.h"

namespace dyadic::test {
namespace {

using namespace optim;

struct Training {
  Tensor a = zeros({1}), b = zeros({1});
  Optimizer optimizer;

  explicit Training(Options o = {{"lr", 0.1}, {"momentum", 0.9}})
      : optimizer("SGD",
                  std::vector<ParamGroup>{{{{"a", a.requires_grad_()}}, {}}, {{{"b", b.requires_grad_()}}, {{"lr", 0.05}}}},
                  std::move(o)) {
    a.set_grad(ones({1}));
    b.set_grad(ones({1}));
  }
  // The first group's rate at every step; the second's is half of it.
  std::vector<double> rates(Schedule& s, int n) {
    std::vector<double> out;
    for (int i = 0; i < n; ++i) {
      out.push_back(optimizer.groups()[0].options.number("lr"));
      EXPECT_EQ(s.get_last_lr()[0], out.back());
      EXPECT_NEAR(s.get_last_lr()[1], out.back() / 2, 1e-15);
      optimizer.step();
      s.step();
    }
    return out;
  }
};

void expect_rates(const std::vector<double>& got, double (*want)(int)) {
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want(int(i)), 1e-14) << "step " << i;
}

TEST(Schedules, FollowTheirClosedForms) {
  auto run = [](const char* name, Options o, double (*want)(int)) {
    Training s;
    LRScheduler schedule(name, s.optimizer, std::move(o));
    SCOPED_TRACE(name);
    expect_rates(s.rates(schedule, 25), want);
  };
  run("StepLR", {{"step_size", 4}}, [](int t) { return 0.1 * std::pow(0.1, t / 4); });
  run("MultiStepLR", {{"milestones", {3, 8}}}, [](int t) { return t < 3 ? 0.1 : t < 8 ? 0.01 : 0.001; });
  run("ConstantLR", {{"factor", 0.5}}, [](int t) { return t < 5 ? 0.05 : 0.1; });
  run("LinearLR", {{"start_factor", 0.2}, {"total_iters", 8}}, [](int t) { return 0.1 * (0.2 + 0.8 * std::min(t, 8) / 8); });
  run("ExponentialLR", {{"gamma", 0.9}}, [](int t) { return 0.1 * std::pow(0.9, t); });
  run("PolynomialLR", {{"total_iters", 9}, {"power", 2.0}}, [](int t) { return t < 9 ? 0.1 * std::pow(1 - t / 9.0, 2) : 0; });
  run("CosineAnnealingLR", {{"T_max", 7}}, [](int t) { return 0.05 * (1 + std::cos(M_PI * t / 7)); });
  run("CosineAnnealingWarmRestarts", {{"T_0", 5}}, [](int t) { return 0.05 * (1 + std::cos(M_PI * (t % 5) / 5)); });
}

TEST(Schedules, CallFunctions) {
  Training s;
  LRScheduler schedule("LambdaLR", s.optimizer, {}, {Factor([](int64_t e) { return 1.0 / double(e + 1); })});
  expect_rates(s.rates(schedule, 5), [](int t) { return 0.1 / (t + 1); });
  EXPECT_THROW(LRScheduler("LambdaLR", s.optimizer), TypeError);
  EXPECT_THROW(LRScheduler("StepLR", s.optimizer), TypeError);
  EXPECT_THROW(LRScheduler("StepLr", s.optimizer, {{"step_size", 2}}), ValueError);
  EXPECT_THROW(LRScheduler("StepLR", s.optimizer, {{"step_size", 2}, {"factor", 2}}), ValueError);
}

TEST(Schedules, CombineAndResume) {
  auto make = [](Training& s) {
    auto warm = std::make_shared<LRScheduler>("LinearLR", s.optimizer, Options{{"start_factor", 0.5}, {"total_iters", 4}});
    auto after = std::make_shared<LRScheduler>("ExponentialLR", s.optimizer, Options{{"gamma", 0.5}});
    return std::make_unique<SequentialLR>(s.optimizer, std::vector<std::shared_ptr<Schedule>>{warm, after},
                                          std::vector<int64_t>{4});
  };
  Training s, again;
  auto schedule = make(s);
  expect_rates(s.rates(*schedule, 6), [](int t) { return t < 4 ? 0.1 * (0.5 + 0.5 * t / 4) : 0.1 * std::pow(0.5, t - 4); });
  auto resumed = make(again);
  resumed->load_state_dict(schedule->state_dict());
  for (size_t i = 0; i < 2; ++i)
    again.optimizer.set_option(again.optimizer.groups()[i], "lr", s.optimizer.groups()[i].options.number("lr"));
  EXPECT_EQ(s.rates(*schedule, 4), again.rates(*resumed, 4));

  Training chained;
  ChainedScheduler both(
      {std::make_shared<LRScheduler>("ConstantLR", chained.optimizer, Options{{"factor", 0.5}, {"total_iters", 3}}),
       std::make_shared<LRScheduler>("ExponentialLR", chained.optimizer, Options{{"gamma", 0.9}})});
  expect_rates(chained.rates(both, 8), [](int t) { return 0.1 * (t < 3 ? 0.5 : 1) * std::pow(0.9, t); });
}

TEST(Schedules, PlateausLowerTheRate) {
  Training s;
  ReduceLROnPlateau schedule(s.optimizer, {.factor = 0.5, .patience = 1});
  for (double metric : {1.0, 0.9, 0.9, 0.9}) schedule.step(metric);
  EXPECT_EQ(s.optimizer.groups()[0].options.number("lr"), 0.05);
  EXPECT_THROW(schedule.step(), TypeError);
}

}  // namespace
}  // namespace dyadic::test
