// Whole training steps without their program: schedules, clipping, a scaler that skips, accumulation. The bits of eager steps.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "dyadic/amp.h"
#include "dyadic/autograd.h"
#include "dyadic/lr_scheduler.h"
#include "dyadic/optim.h"
#include "dyadic/parallel.h"
#include "tests/graph/compiled.h"

namespace dyadic::inline v1 {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const CompileOptions kWholeStep = {.mode = "reduce-overhead"};

struct Net : nn::Module {
  nn::Linear first{12, 24}, second{24, 5};
  Net() {
    add("first", first);
    add("second", second);
  }
  Tensor forward(const Tensor& x) override { return second(dropout(gelu(first(x)), 0.1, training())); }
};

std::shared_ptr<optim::Schedule> schedule_of(const std::string& name, optim::Optimizer& optimizer) {
  if (name == "chained") {
    return std::make_shared<optim::ChainedScheduler>(std::vector<std::shared_ptr<optim::Schedule>>{
        schedule_of("ExponentialLR", optimizer), schedule_of("StepLR", optimizer)});
  }
  if (name == "sequence") {
    return std::make_shared<optim::SequentialLR>(
        optimizer,
        std::vector<std::shared_ptr<optim::Schedule>>{schedule_of("LinearLR", optimizer), schedule_of("StepLR", optimizer)},
        std::vector<int64_t>{7});
  }
  optim::Options options;
  if (name == "ExponentialLR") options = {{"gamma", 0.9}};
  if (name == "StepLR") options = {{"step_size", 3}, {"gamma", 0.5}};
  if (name == "CosineAnnealingLR") options = {{"T_max", 12}};
  if (name == "OneCycleLR") options = {{"max_lr", 0.1}, {"total_steps", 30}};
  return std::make_shared<optim::LRScheduler>(name, optimizer, options);
}

struct Recipe {
  const char* optimizer = "AdamW";
  const char* schedule = nullptr;
  double clip = 0, norm_type = 2, clip_value = 0;
  double scale = 0;  // the scaler's first; 0: no scaler
  bool unscale = false;
  int parts = 1;  // of a batch, whose gradients add up
};

struct Outcome {
  std::string seen;
  int64_t replays = 0, skipped = 0, grown = 0;
  std::string explained;
};

constexpr int kSteps = 20;

// How a step is called: as it is, or compiled.
template <class Wrap> Outcome train(const Recipe& r, int threads, Wrap wrap) {
  const int before = num_threads();
  set_num_threads(threads);
  manual_seed(3);
  Net model;
  optim::Optimizer optimizer(r.optimizer, model.named_parameters(), {{"lr", 1e-2}});
  optim::GradScaler scaler({.init_scale = r.scale, .growth_interval = 3, .enabled = r.scale != 0});
  const auto schedule = r.schedule ? schedule_of(r.schedule, optimizer) : nullptr;
  auto fast = wrap([&](const Tensor& x, const Tensor& targets) {
    optimizer.zero_grad();
    Tensor total = zeros({});
    const int64_t rows = x.size(0) / r.parts;
    for (int k = 0; k < r.parts; ++k) {
      Tensor loss;
      {
        std::optional<Autocast> low;
        if (r.scale != 0) low.emplace(f16);
        loss = cross_entropy(model(x.narrow(0, k * rows, rows)), targets.narrow(0, k * rows, rows)) / r.parts;
      }
      scaler.scale(loss).backward();
      total += loss.detach();
    }
    if (r.unscale) scaler.unscale_(optimizer);
    if (r.clip > 0) optim::clip_grad_norm_(model.named_parameters(), r.clip, r.norm_type);
    if (r.clip_value > 0) optim::clip_grad_value_(model.named_parameters(), r.clip_value);
    scaler.step(optimizer);
    scaler.update();
    if (schedule) schedule->step();
    return total;
  });
  Outcome out;
  for (int k = 0; k < kSteps; ++k) {
    const double scale = scaler.get_scale();
    const Tensor x = randn({16, 12}), targets = randint(0, 5, {16});
    if (k == 12) x[3].fill_(k);
    out.seen += bits(fast(x, targets));
    for (auto& [name, p] : model.named_parameters())
      out.seen += bits(p) + bits(p.grad()) + fmt::format(" {} {}", p.version(), r.clip > 1 ? 0 : p.grad().version());
    for (const double v : {scaler.get_scale(), double(scaler.growth_tracker()), double(scaler.skipped()),
                           optimizer.groups()[0].options.number("lr"), double(optimizer.steps())})
      out.seen += fmt::format(" {}", v);
    if (schedule) out.seen += fmt::format(" {} {}", schedule->get_last_lr()[0], schedule->last_epoch());
    out.grown += scaler.get_scale() > scale;
  }
  for (auto& [name, s] : optimizer.state_dict()) out.seen += name + bits(s);
  out.seen += bits(randn({4}));
  out.skipped = scaler.skipped();
  if constexpr (requires { fast.explain(); }) out.explained = fast.explain(), out.replays = replays(out.explained);
  set_num_threads(before);
  return out;
}
const auto kEager = [](auto f) { return f; };
const auto kReplayed = [](auto f) { return compile(f, kWholeStep); };
const auto kChecked = [](auto f) {
  CompileOptions checked = kWholeStep;
  checked.check = true;
  return compile(f, checked);
};

// The first step finds no gradients; two more are written down, all others are replays.
Outcome expect_replays(const Recipe& r) {
  constexpr int kReplays = kSteps - 3;
  Outcome eager;
  for (const int threads : {1, 2, 3}) {
    eager = train(r, threads, kEager);
    const Outcome again = train(r, threads, kReplayed);
    EXPECT_TRUE(again.seen == eager.seen) << threads << " threads\n" << again.explained;
    EXPECT_EQ(again.replays, kReplays) << again.explained;
    EXPECT_EQ(again.skipped, eager.skipped);
  }
  const Outcome checked = train(r, 2, kChecked);
  EXPECT_TRUE(checked.seen == eager.seen) << checked.explained;
  EXPECT_NE(checked.explained.find(fmt::format("{} runs of it were checked", kReplays)), std::string::npos)
      << checked.explained;
  return eager;
}

TEST(replayed_training, schedules_step_inside) {
  for (const char* schedule : {"ExponentialLR", "StepLR", "CosineAnnealingLR", "OneCycleLR", "sequence", "chained"})
    for (const char* optimizer : {"SGD", "AdamW"}) {
      SCOPED_TRACE(std::string(schedule) + " " + optimizer);
      expect_replays({.optimizer = optimizer, .schedule = schedule});
    }
}

TEST(replayed_training, clips_norms_and_values) {
  for (const double p : {2.0, 1.0, 3.0, 0.0, kInf}) {
    SCOPED_TRACE(p);
    expect_replays({.schedule = "StepLR", .clip = 0.05, .norm_type = p});
    expect_replays({.optimizer = "SGD", .clip = 1e6, .norm_type = p});
  }
  expect_replays({.optimizer = "SGD", .clip_value = 0.01});
}

// The scale grows every three steps until gradients overflow: then a step is skipped and the scale halved, in replays too.
TEST(replayed_training, a_scaler_skips_and_grows) {
  for (const bool unscale : {false, true}) {
    const Outcome seen =
        expect_replays({.schedule = "ExponentialLR", .clip = unscale ? 0.02 : 0, .scale = 1 << 18, .unscale = unscale});
    EXPECT_GE(seen.skipped, 2);
    EXPECT_GE(seen.grown, 2);
    EXPECT_LT(seen.skipped, kSteps / 2);
  }
  expect_replays({.optimizer = "SGD", .scale = 1024});
}

TEST(replayed_training, gradients_add_up_inside) {
  expect_replays({.parts = 4});
  expect_replays({.schedule = "CosineAnnealingLR", .clip = 0.1, .scale = 1 << 18, .unscale = true, .parts = 2});
}

// A scaler over several calls: gradients add up scaled, the last call steps.
TEST(replayed_training, gradients_add_up_over_calls) {
  auto run = [](auto wrap, int64_t* again) {
    manual_seed(2);
    Net model;
    optim::Optimizer optimizer("AdamW", model.named_parameters(), {{"lr", 0.01}});
    optim::GradScaler scaler({.init_scale = 1 << 24, .growth_interval = 2});
    auto part = wrap([&](const Tensor& x, bool last) {
      Tensor loss;
      {
        const Autocast low(f16);
        loss = (model(x) * 0.25).square().mean();
      }
      scaler.scale(loss).backward();
      if (last) {
        scaler.unscale_(optimizer);
        optim::clip_grad_norm_(model.named_parameters(), 0.1);
        scaler.step(optimizer);
        scaler.update();
        optimizer.zero_grad();
      }
      return loss;
    });
    std::string seen;
    for (int k = 0; k < 36; ++k) {
      seen += bits(part(randn({9, 12}), k % 3 == 2)) + fmt::format(" {} {}", scaler.get_scale(), scaler.skipped());
      for (auto& [name, p] : model.named_parameters()) seen += p.grad().defined() ? bits(p.grad()) : "-";
    }
    for (auto& [name, p] : model.named_parameters()) seen += bits(p);
    EXPECT_GE(scaler.skipped(), 1);
    if constexpr (requires { part.explain(); }) *again = replays(part.explain());
    return seen;
  };
  int64_t again = 0;
  EXPECT_TRUE(run(kReplayed, &again) == run(kEager, nullptr));
  EXPECT_EQ(again, 30);  // three kinds of calls, each written down twice
}

// What is asked for on the way may lead the program elsewhere.
TEST(replayed_training, numbers_that_are_asked_for) {
  Net model;
  optim::Optimizer optimizer("SGD", model.named_parameters(), {{"lr", 0.01}});
  optim::GradScaler scaler(8);
  optim::LRScheduler schedule("StepLR", optimizer, {{"step_size", 100}});
  auto expect_reason = [&](const char* why, auto ask) {
    auto step = compile(
        [&](const Tensor& x) {
          optimizer.zero_grad();
          const Tensor loss = model(x).square().mean();
          scaler.scale(loss).backward();
          return ask(loss);
        },
        kWholeStep);
    for (int k = 0; k < 5; ++k) step(randn({3, 12}));
    EXPECT_EQ(replays(step.explain()), 0) << why;
    EXPECT_NE(step.explain().find(why), std::string::npos) << step.explain();
  };
  auto steps = [&] { return scaler.step(optimizer); };
  expect_reason("the program asks whether a GradScaler's step is made", [&](const Tensor& loss) {
    const bool made = steps();
    scaler.update();
    return made ? loss : -loss;
  });
  expect_reason("a value is read on the way: f64[] of clip_factor", [&](const Tensor& loss) {
    const double norm = optim::clip_grad_norm_(model.named_parameters(), 1);
    return loss * norm;
  });
  expect_reason("a GradScaler is asked for its numbers", [&](const Tensor& loss) { return loss * scaler.get_scale(); });
  expect_reason("a schedule is asked for its numbers", [&](const Tensor& loss) { return loss * schedule.get_last_lr()[0]; });
  expect_reason("an option of an optimizer that the program sets", [&](const Tensor& loss) {
    optimizer.set_lr(0.02);
    return loss;
  });
}

// Too many skipped steps are the same error, and so is a step too many.
TEST(replayed_training, errors_of_a_scaler) {
  auto run = [](auto wrap) {
    manual_seed(2);
    Net model;
    optim::Optimizer optimizer("SGD", model.named_parameters(), {{"lr", 0.01}});
    optim::GradScaler scaler({.init_scale = 8, .max_skips = 3});
    auto step = wrap([&](const Tensor& x) {
      optimizer.zero_grad();
      const Tensor loss = model(x).square().mean();
      scaler.scale(loss).backward();
      scaler.step(optimizer);
      scaler.update();
      return loss;
    });
    std::string seen;
    for (int k = 0; k < 12; ++k) {
      try {
        seen += bits(step(k < 6 ? randn({3, 12}) : full({3, 12}, kInf)));
      } catch (const Error& e) { seen += e.what(); }
      seen += fmt::format(" {} {} ", scaler.get_scale(), scaler.skipped_in_a_row());
      for (auto& [name, p] : model.named_parameters()) seen += bits(p);
    }
    EXPECT_NE(seen.find("steps in a row were skipped: the gradient of first.weight"), std::string::npos);
    if constexpr (requires { step.explain(); }) { EXPECT_GE(replays(step.explain()), 4) << step.explain(); }
    return seen;
  };
  EXPECT_TRUE(run(kReplayed) == run(kEager));
}

// Parts of steps that end with their owners: what is recorded does not run again.
TEST(replayed_training, owners_that_are_gone) {
  Net model;
  optim::Optimizer optimizer("SGD", model.named_parameters(), {{"lr", 0.01}});
  auto scaler = std::make_unique<optim::GradScaler>(8);
  auto schedule = std::make_unique<optim::LRScheduler>("StepLR", optimizer, optim::Options{{"step_size", 1}});
  auto step = compile(
      [&](const Tensor& x) {
        optimizer.zero_grad();
        const Tensor loss = model(x).square().mean();
        scaler->scale(loss).backward();
        scaler->step(optimizer);
        scaler->update();
        schedule->step();
        return loss;
      },
      kWholeStep);
  for (int k = 0; k < 12; ++k) {
    if (k == 4) scaler = std::make_unique<optim::GradScaler>(16);
    if (k == 8) schedule = std::make_unique<optim::LRScheduler>("StepLR", optimizer, optim::Options{{"step_size", 1}});
    step(randn({3, 12}));
  }
  EXPECT_EQ(replays(step.explain()), 5) << step.explain();
  EXPECT_EQ(scaler->growth_tracker(), 8);
  EXPECT_EQ(schedule->last_epoch(), 4);
}

}  // namespace
}  // namespace dyadic::inline v1
