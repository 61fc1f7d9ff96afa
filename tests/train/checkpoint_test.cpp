// Checkpoints of a run: everything comes back by name; what has changed is said; the background writes what was there at the
// call.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/train/run.h"

namespace dyadic {
namespace {

using testing::content;
using testing::error_of;
using testing::Folder;
using testing::Net;
using testing::read_bytes;
using testing::SmallRun;
using testing::write_bytes;
using train::Checkpoint;
using train::Difference;

void expect_same(const nn::NamedTensors& a, const nn::NamedTensors& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].first, b[i].first);
    EXPECT_TRUE(content(a[i].second) == content(b[i].second)) << a[i].first;
  }
}

TEST(RunCheckpoint, GoesOnWithTheSameBits) {
  for (int stop_after : {1, 5, 6, 13}) {  // an epoch has 6 batches
    Folder folder;
    manual_seed(1);
    SmallRun whole(0);
    whole.train(20, [](int64_t, double) { return true; });
    const GeneratorState last = generator_state();

    manual_seed(1);
    {
      SmallRun first(2);
      Checkpoint c(folder / "c");
      first.add_to(c);
      first.train(20, [&](int64_t step, double) { return step < stop_after; });
      c.save(first.step);
    }
    manual_seed(99);
    SmallRun second(1);
    Checkpoint c(folder / "c");
    second.add_to(c);
    auto resumed = c.resume();
    ASSERT_TRUE(resumed);
    EXPECT_EQ(resumed->step, stop_after);
    second.step = resumed->step;
    second.train(20, [](int64_t, double) { return true; });
    EXPECT_EQ(second.weights(), whole.weights());
    EXPECT_EQ(second.mean_loss, whole.mean_loss);
    EXPECT_EQ(second.scaler.get_scale(), whole.scaler.get_scale());
    EXPECT_EQ(second.schedule.get_last_lr(), whole.schedule.get_last_lr());
    EXPECT_EQ(generator_state().calls, last.calls);
    EXPECT_EQ(generator_state().seed, last.seed);
    expect_same(second.adamw.state_dict(), whole.adamw.state_dict());
  }
}

TEST(RunCheckpoint, NothingToResume) {
  Folder folder;
  Net net;
  Checkpoint c(folder / "none");
  c.add("model", net);
  EXPECT_FALSE(c.resume());
  EXPECT_EQ(error_of([&] { c.add("model", net); }), "checkpoint: two parts are called \"model\"");
  EXPECT_EQ(error_of([&] { c.add("a.b", net); }), "checkpoint: a part's name has no dot and is not empty: it is \"a.b\"");
  EXPECT_EQ(error_of([&] { c.config("[1]"); }), "checkpoint: the config is not a JSON object: it begins [1]");
  EXPECT_EQ(error_of([&] { c.save(-1); }), "checkpoint: the step is negative: step is -1");
}

struct Renamed : nn::Module {
  nn::Linear upp, down;
  nn::Linear extra{2, 2};
  Renamed() : upp(12, 24), down(24, 5) { add("upp", upp), add("down", down), add("extra", extra); }
  Tensor forward(const Tensor& x) override { return down(upp(x)); }
};

TEST(RunCheckpoint, AChangedRunIsADiff) {
  Folder folder;
  manual_seed(4);
  Net old;
  double loss = 0.5;
  Checkpoint saved(folder / "c");
  saved.add("model", old).add("loss", loss).config(R"({"lr": 0.1, "data": {"batch": 8, "seed": 1}})");
  saved.save(3, {{"val", 0.25}});

  Renamed net;
  const std::string before = content(net.down.weight);
  int64_t epoch = 0;
  Checkpoint c(folder / "c");
  c.add("model", net).add("epoch", epoch).config(R"({"lr": 0.2, "data": {"batch": 8, "sed": 1}})");
  const std::string text = error_of([&] { c.resume(); });
  EXPECT_EQ(text, "checkpoint " + (folder / "c/checkpoint-00000003.safetensors") +
                      ": of another run:\n"
                      "model: missing upp.weight (f32[24, 12] here; nearest there: up.weight)\n"
                      "model: missing upp.bias (f32[24] here; nearest there: up.bias)\n"
                      "model: down.weight is f32[4, 24] there and f32[5, 24] here\n"
                      "model: down.bias is f32[4] there and f32[5] here\n"
                      "model: missing extra.weight (f32[2, 2] here; nearest there: norm.weight)\n"
                      "model: missing extra.bias (f32[2] here; nearest there: norm.bias)\n"
                      "model: unexpected up.weight (f32[24, 12] there; nearest here: upp.weight)\n"
                      "model: unexpected up.bias (f32[24] there; nearest here: upp.bias)\n"
                      "model: unexpected norm.weight (f32[24] there; nearest here: upp.weight)\n"
                      "model: unexpected norm.bias (f32[24] there; nearest here: upp.bias)\n"
                      "model: unexpected norm.running_mean (f32[24] there)\n"
                      "model: unexpected norm.running_var (f32[24] there)\n"
                      "model: unexpected norm.num_batches_tracked (i64[] there)\n"
                      "the run: missing epoch\n"
                      "the run: unexpected loss\n"
                      "config: missing data.sed (1 here; nearest there: data.seed)\n"
                      "config: lr is 0.1 there and 0.2 here\n"
                      "config: unexpected data.seed (1 there; nearest here: data.sed)\n"
                      "make the run what it was, pass another, or load what fits with strict=false");
  EXPECT_EQ(content(net.down.weight), before);

  auto resumed = c.resume(false);
  ASSERT_TRUE(resumed);
  EXPECT_EQ(resumed->step, 3);
  EXPECT_EQ(resumed->metrics, (train::Metrics{{"val", 0.25}}));
  EXPECT_EQ(resumed->differences.size(), 18u);
  EXPECT_EQ(resumed->differences[2].kind, Difference::Kind::changed);
  EXPECT_EQ(content(net.down.weight), before);
}

TEST(RunCheckpoint, OptimizersGoByTheModelsNames) {
  Folder folder;
  auto step = [](Net& net, optim::Optimizer& o) {
    o.zero_grad();
    cross_entropy(net(ones({4, 12})), zeros({4}, i64)).backward();
    o.step();
  };
  // Positions as names, in two groups; then one group in another order, under other names.
  Net a;
  optim::Optimizer first("AdamW",
                         {{{{"0", a.down.weight}, {"1", a.down.bias}}, {{"lr", 0.5}}},
                          {{{"2", a.up.weight}, {"3", a.up.bias}, {"4", a.norm.named_parameters()[0].second}}, {}}},
                         {{"weight_decay", 0.25}});
  step(a, first);
  Checkpoint c(folder / "c");
  c.add("model", a).add("optimizer", first);
  c.save(1);
  Net b;
  nn::NamedTensors all = {{"z", b.norm.named_parameters()[0].second},
                          {"0", b.up.weight},
                          {"1", b.up.bias},
                          {"x", b.down.bias},
                          {"y", b.down.weight}};
  optim::Optimizer second("AdamW", all);
  Checkpoint d(folder / "c");
  d.add("model", b).add("optimizer", second);
  d.resume();
  std::map<std::string, Tensor> there, here;
  for (auto& [name, t] : first.state_dict()) there[name] = t;
  for (auto& [name, t] : second.state_dict()) here[name] = t;
  EXPECT_EQ(there.size(), 10u);
  for (auto [old, now] : {std::pair("0", "y"), {"1", "x"}, {"2", "0"}, {"3", "1"}, {"4", "z"}})
    for (std::string kind : {"exp_avg.", "exp_avg_sq."})
      EXPECT_EQ(content(there.at(kind + old)), content(here.at(kind + now))) << kind << now;
  EXPECT_EQ(second.groups()[0].options.number("weight_decay"), 0.25);
  EXPECT_EQ(second.groups()[0].options.number("lr"), 1e-3);  // of the group that holds the first parameter

  optim::Optimizer sgd("SGD", b.named_parameters(), {{"momentum", 0.9}});
  Checkpoint e(folder / "c");
  e.add("model", b).add("optimizer", sgd);
  EXPECT_NE(error_of([&] { e.resume(); }).find("optimizer: kind is AdamW there and SGD here"), std::string::npos);
  EXPECT_EQ(e.resume(false)->differences.size(), 2u);  // and norm.bias, that the first optimizer did not have
}

TEST(RunCheckpoint, WhatFitsIsLoaded) {
  Folder folder;
  Net old, wider(24, 5);
  optim::AdamW first(old.named_parameters(), {.lr = 0.5}), second(wider.named_parameters());
  cross_entropy(old(ones({4, 12})), zeros({4}, i64)).backward();
  first.step();
  Checkpoint c(folder / "c"), d(folder / "c");
  c.add("net", old).add("optimizer", first).save(1);
  d.add("net", wider).add("optimizer", second);
  const std::string before = content(wider.down.weight);
  const auto differences = d.resume(false)->differences;
  ASSERT_EQ(differences.size(), 4u);
  EXPECT_EQ(differences[2].str(), "optimizer: net.down.bias is [4] with states in f32 there and [5] with states in f32 here");
  EXPECT_EQ(content(wider.up.weight), content(old.up.weight));
  EXPECT_EQ(content(wider.down.weight), before);
  std::vector<std::string> names;
  for (auto& [name, t] : second.state_dict()) names.push_back(name);
  EXPECT_EQ(names.size(), 8u) << ::testing::PrintToString(names);  // two of up's and norm's four parameters
  EXPECT_EQ(second.steps(), 1);
  EXPECT_EQ(second.groups()[0].options.number("lr"), 0.5);
}

TEST(RunCheckpoint, BackgroundWritesWhatWasThere) {
  Folder folder;
  Net net;
  optim::AdamW adamw(net.named_parameters());
  Checkpoint c(folder / "c", {.shard_bytes = 1000, .background = true});
  c.add("model", net).add("optimizer", adamw);
  const std::string before = content(net.up.weight);
  reset_peak_memory_stats();
  const auto held = memory_stats().live[size_t(Category::workspace)];
  c.save(1);
  {
    NoGrad guard;
    net.up.weight.zero_();
  }
  c.wait();
  const MemoryStats stats = memory_stats();
  EXPECT_GE(stats.peak[size_t(Category::workspace)] - held, net.nbytes());
  EXPECT_EQ(stats.live[size_t(Category::workspace)], held);
  c.resume();
  EXPECT_EQ(content(net.up.weight), before);
  EXPECT_EQ(c.folder().list()[0].path, folder / "c/checkpoint-00000001.safetensors.index.json");
}

TEST(RunCheckpoint, AnErrorOfTheWriterIsNeverLost) {
  Folder folder;
  write_bytes(folder / "file", "in the way");
  Net net;
  const std::string text = "checkpoint: cannot make the folder " + (folder / "file/c") + ": Not a directory";
  ::testing::internal::CaptureStderr();
  {
    Checkpoint c(folder / "file/c", {.background = true});
    c.add("model", net);
    c.save(1);
    EXPECT_EQ(error_of([&] { c.wait(); }), text);
    c.wait();  // said once
    c.save(2);
    EXPECT_EQ(error_of([&] { c.save(3); }), text);
    c.save(4);
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "dyadic: warning: " + text + "\n");
}

TEST(RunCheckpoint, KeepsTheLastAndTheBest) {
  Folder folder;
  Net net;
  double metric = 0;
  Checkpoint c(folder / "c", {.keep = 2, .best = "loss"});
  c.add("model", net).add("metric", metric);
  auto steps = [&] {
    std::vector<int64_t> all;
    for (auto& f : c.folder().list()) all.push_back(f.step);
    return all;
  };
  const std::vector<double> losses = {3, 1, 2, NAN, 1, 4};
  for (size_t i = 0; i < losses.size(); ++i) {
    metric = losses[i];
    c.save(int64_t(i), {{"loss", losses[i]}, {"other", -double(i)}});
  }
  EXPECT_EQ(steps(), (std::vector<int64_t>{5, 4, 1}));
  EXPECT_EQ(c.load_best()->step, 1);
  EXPECT_EQ(metric, 1);

  Checkpoint most(folder / "c", {.keep = 1, .best = "loss", .maximize = true});
  most.add("model", net).add("metric", metric);
  EXPECT_EQ(most.load_best()->step, 5);
  EXPECT_EQ(most.resume()->step, 5);
  EXPECT_EQ(error_of([&] { Checkpoint(folder / "c").load_best(); }),
            "checkpoint: best() needs the name of a metric; none was given");
}

TEST(RunCheckpoint, OneFileOfAnyName) {
  Folder folder;
  Net a, b;
  Checkpoint c(folder / "unused");
  c.add("model", a);
  c.save_file(folder / "x", 7);
  Checkpoint d(folder / "unused");
  d.add("model", b);
  EXPECT_EQ(d.load(folder / "x").step, 7);
  expect_same(b.state_dict(), a.state_dict());
  EXPECT_FALSE(std::filesystem::exists(folder / "unused"));

  io::Checkpoint other;
  other.save(folder / "y");
  EXPECT_EQ(error_of([&] { d.load(folder / "y"); }),
            "checkpoint " + (folder / "y") + ": not a training run's; delete it or pass another");
  other.json = R"({"run": 2})";
  other.save(folder / "y");
  EXPECT_EQ(error_of([&] { d.load(folder / "y"); }),
            "checkpoint " + (folder / "y") + ": of version 2, newer than this program's 1; update dyadic");
  other.json = R"({"run": 1})";
  other.save(folder / "y");
  EXPECT_NE(error_of([&] { d.load(folder / "y"); }).find("its document is incomplete"), std::string::npos);
}

TEST(EarlyStopping, StopsAndRestoresTheBest) {
  Net net;
  train::EarlyStopping stop({.patience = 2, .min_delta = 0.1}, &net);
  const std::vector<double> metrics = {1.0, 0.95, 0.5, NAN, 0.45};  // 0.95 and 0.45 are less than 0.1 better
  std::vector<bool> said;
  std::string best;
  for (double m : metrics) {
    NoGrad guard;
    net.up.weight.fill_(m);
    if (m == 0.5) best = content(net.up.weight);
    said.push_back(stop.update(m));
  }
  EXPECT_EQ(said, (std::vector<bool>{false, false, false, false, true}));
  EXPECT_EQ(stop.best(), 0.5);
  EXPECT_EQ(stop.best_update(), 2);
  EXPECT_EQ(stop.updates(), 5);
  EXPECT_EQ(content(net.up.weight), best);

  train::EarlyStopping most({.patience = 1, .maximize = true});
  EXPECT_FALSE(most.update(0.5));
  EXPECT_FALSE(most.update(0.6));
  EXPECT_TRUE(most.update(0.6));
  EXPECT_EQ(error_of([] { train::EarlyStopping({.patience = 0}); }), "EarlyStopping: patience is 0; it is at least 1");
  EXPECT_EQ(error_of([] { train::EarlyStopping({.min_delta = -1}); }), "EarlyStopping: min_delta is -1; it is not negative");
}

TEST(EarlyStopping, IsPartOfARun) {
  Folder folder;
  Net net, other;
  train::EarlyStopping stop({.patience = 2}, &net), again({.patience = 2}, &other);
  stop.update(1);
  const std::string best = content(net.up.weight);
  {
    NoGrad guard;
    net.up.weight.zero_();
  }
  stop.update(2);
  Checkpoint c(folder / "c"), d(folder / "c");
  c.add("model", net).add("stop", stop).save(1);
  d.add("model", other).add("stop", again).resume();
  EXPECT_TRUE(again.update(1.5));
  EXPECT_EQ(content(other.up.weight), best);
}

TEST(RunCheckpoint, AnotherScheduleIsADifference) {
  Folder folder;
  nn::Linear model(2, 2);
  optim::Optimizer sgd("SGD", model.named_parameters(), {{"lr", 0.1}});
  optim::LRScheduler steps("StepLR", sgd, {{"step_size", 2}}), other("ExponentialLR", sgd, {{"gamma", 0.5}});
  Checkpoint saved(folder / "run"), loaded(folder / "run");
  saved.add("schedule", steps).save(1);
  EXPECT_EQ(saved.resume()->step, 1);
  loaded.add("schedule", other);
  EXPECT_THROW(loaded.resume(), train::DifferentRun);
  EXPECT_EQ(loaded.resume(false)->differences.size(), 1u);
}

}  // namespace
}  // namespace dyadic
