// dyadic bench compile: a chain of seven pointwise calls, one by one and as one pass of a compiled function, a training step of
// a small network, and how long planning takes beside the step that is planned.
#include <algorithm>
#include <optional>

#include "base/check.h"
#include "cli/bench.h"
#include "dyadic/amp.h"
#include "dyadic/autograd.h"
#include "dyadic/compile.h"
#include "dyadic/lr_scheduler.h"
#include "dyadic/nn.h"
#include "dyadic/ops_nn.h"
#include "dyadic/optim.h"
#include "graph/replay.h"
#include "study/memory_plan.h"
#include "study/preset.h"
#include "study/trainer.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr int64_t kElements = 16 << 20;  // of a run: small chains are repeated
constexpr int kCompileRuns = 7;

Tensor chain(const Tensor& x, const Tensor& y) {
  const Tensor t = (x * y + x) * 0.5 - y;
  const Tensor r = relu(t);
  return r * r + x;
}

void chain_rows(std::vector<Row>& rows, DType d, int64_t n) {
  const NoGrad guard;
  const Tensor x = rand({n}).to(d), y = rand({n}).to(d);
  const int64_t repeats = std::max<int64_t>(1, kElements / 8 / n);
  const double bytes = double(3 * n * d.itemsize() * repeats);  // what one pass must move
  auto row = [&](const char* how, auto f) {
    const Time t = time_runs(1, kCompileRuns, [&] {
      for (int64_t i = 0; i < repeats; ++i) f(x, y);
    });
    rows.push_back(ns_row("chain of 7, " + std::to_string(n) + how, d.name(), t, double(repeats), bytes));
  };
  row(", eager", chain);
  row(", compiled", compile(chain));
}

void step_rows(std::vector<Row>& rows) {
  nn::Linear first(256, 1024), second(1024, 256);
  std::vector<std::pair<std::string, Tensor>> parameters = first.named_parameters();
  for (auto& [name, p] : second.named_parameters()) parameters.emplace_back("second." + name, p);
  optim::Optimizer optimizer("AdamW", parameters);
  const Tensor x = rand({256, 256}), target = rand({256, 256});
  auto step = [&] {
    optimizer.zero_grad();
    const Tensor h = first(x), loss = mse_loss(second(h * sigmoid(h * 1.702)) * 0.5 + x, target);
    loss.backward();
    optimizer.step();
  };
  rows.push_back(ns_row("step of an MLP, eager", "f32", time_runs(2, kCompileRuns, step), 1));
  rows.push_back(ns_row("step of an MLP, compiled", "f32", time_runs(2, kCompileRuns, compile(step)), 1));
}

// A step that is overhead alone: eager, with its program, without it. Plain; with clipping and a schedule; in f16 with a
// scaler.
enum class Tiny : uint8_t { plain, clipped, scaled };
void tiny_rows(std::vector<Row>& rows, Tiny kind) {
  nn::Linear first(16, 32), second(32, 4);
  std::vector<std::pair<std::string, Tensor>> parameters = first.named_parameters();
  for (auto& [name, p] : second.named_parameters()) parameters.emplace_back("second." + name, p);
  optim::Optimizer optimizer("SGD", parameters, {{"lr", 1e-3}});
  optim::LRScheduler schedule("CosineAnnealingLR", optimizer, {{"T_max", 1000}});
  optim::GradScaler scaler(1024, kind == Tiny::scaled);
  const Tensor x = rand({8, 16}), targets = randint(0, 4, {8});
  auto step = [&](const Tensor& in, const Tensor& out) {
    optimizer.zero_grad();
    std::optional<Autocast> low;
    if (kind == Tiny::scaled) low.emplace(f16);
    const Tensor loss = cross_entropy(second(dropout(gelu(first(in)), 0.1, true)), out);
    low.reset();
    scaler.scale(loss).backward();
    if (kind == Tiny::clipped) optim::clip_grad_norm_(parameters, 1);
    scaler.step(optimizer);
    scaler.update();
    if (kind == Tiny::clipped) schedule.step();
    return loss;
  };
  constexpr int kRepeats = 2000;
  const std::string with = kind == Tiny::clipped ? "clipped, on a schedule, " : kind == Tiny::scaled ? "scaled, " : "";
  auto row = [&](const char* how, auto f) {
    const Time t = time_runs(1, kCompileRuns, [&] {
      for (int i = 0; i < kRepeats; ++i) f(x, targets);
    });
    rows.push_back(ns_row("step of a tiny MLP, " + with + how, kind == Tiny::scaled ? "f16" : "f32", t, kRepeats));
  };
  row("eager", step);
  row("compiled", compile(step));
  row("without its program", compile(step, {.mode = "reduce-overhead"}));
}

// What a call compares before its step runs without the program.
void entry_rows(std::vector<Row>& rows) {
  std::vector<std::unique_ptr<nn::Linear>> layers;
  std::vector<std::pair<std::string, Tensor>> parameters;
  for (int k = 0; k < 75; ++k) {
    layers.push_back(std::make_unique<nn::Linear>(4, 4));
    for (auto& [name, p] : layers.back()->named_parameters()) parameters.emplace_back(std::to_string(k) + name, p);
  }
  optim::Optimizer optimizer("SGD", parameters, {{"lr", 1e-3}});
  const std::vector<Tensor> arguments = {rand({2, 4})};
  const graph::StepEntry entry{arguments, ""};
  auto record = [&] {
    graph::Recorder recorder(entry, true, false);
    optimizer.zero_grad();
    Tensor h = arguments[0];
    for (auto& layer : layers) h = (*layer)(h);
    h.sum().backward();
    optimizer.step();
    return recorder.finish({}, 0);
  };
  record();
  const std::shared_ptr<graph::Step> before = record();
  graph::Replay step(record(), *before);
  constexpr int kRepeats = 20'000;
  int64_t fits = 0;
  const Time t = time_runs(1, kCompileRuns, [&] {
    for (int i = 0; i < kRepeats; ++i) fits += step.fits(entry);
  });
  DY_ASSERT(fits == kRepeats * (1 + kCompileRuns));
  rows.push_back(ns_row("entry of a step, 150 parameters", "f32", t, kRepeats));
}

void plan_rows(std::vector<Row>& rows) {
  std::string text;
  while (text.size() < 10'000) text += "a text of any kind\n";
  const study::Corpus corpus = study::Corpus::from_text(text, study::TokenKind::bytes);
  for (const char* name : {"char", "gpt2s"}) {
    study::TrainSetup setup = study::preset(name).setup;
    setup.model.vocab = std::max(setup.model.vocab, corpus.vocabulary().size());
    study::TextSubject subject(setup, corpus, name);
    const study::Recipe& recipe = study::recipe("f32");
    auto plan = [&] { study::plan_training(subject, recipe, setup.plan(), 0, {}); };
    rows.push_back(ns_row(std::string("planning ") + name, "f32", time_runs(1, kCompileRuns, plan), 1));
    study::Trainer trainer(subject, recipe, setup.plan());
    rows.push_back(ns_row(std::string("step of ") + name, "f32", time_runs(1, 3, [&] { trainer.step(); }), 1));
  }
}

std::vector<Row> measure_compile() {
  std::vector<Row> rows;
  for (const DType d : {f32, bf16})
    for (const int64_t n : {4 << 10, 64 << 10, 1 << 20, 8 << 20}) chain_rows(rows, d, n);
  step_rows(rows);
  for (const Tiny kind : {Tiny::plain, Tiny::clipped, Tiny::scaled}) tiny_rows(rows, kind);
  entry_rows(rows);
  plan_rows(rows);
  return rows;
}

Run setup_bench_compile(Options&) {
  return [](const Common& common) { return bench(common, measure_compile); };
}

}  // namespace

const Command bench_compile_command = {"compile",
                                       "chains of pointwise calls and a training step, eager and compiled; planning a step",
                                       "dyadic bench compile --json", setup_bench_compile};

}  // namespace dyadic::inline v1::cli
