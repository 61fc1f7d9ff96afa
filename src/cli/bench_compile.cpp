// dyadic bench compile: a chain of seven pointwise calls, one by one and as one pass of a compiled function, a training step of
// a small network, and how long planning takes beside the step that is planned.
#include <algorithm>

#include "cli/bench.h"
#include "dyadic/autograd.h"
#include "dyadic/compile.h"
#include "dyadic/nn.h"
#include "dyadic/ops_nn.h"
#include "dyadic/optim.h"
#include "study/memory_plan.h"
#include "study/preset.h"
#include "study/trainer.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr int64_t kElements = 16 << 20;  // of a run: small chains are repeated
constexpr int kRuns = 7;

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
    const Time t = time_runs(1, kRuns, [&] {
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
  rows.push_back(ns_row("step of an MLP, eager", "f32", time_runs(2, kRuns, step), 1));
  rows.push_back(ns_row("step of an MLP, compiled", "f32", time_runs(2, kRuns, compile(step)), 1));
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
    rows.push_back(ns_row(std::string("planning ") + name, "f32", time_runs(1, kRuns, plan), 1));
    study::Trainer trainer(subject, recipe, setup.plan());
    rows.push_back(ns_row(std::string("step of ") + name, "f32", time_runs(1, 3, [&] { trainer.step(); }), 1));
  }
}

std::vector<Row> measure() {
  std::vector<Row> rows;
  for (const DType d : {f32, bf16})
    for (const int64_t n : {4 << 10, 64 << 10, 1 << 20, 8 << 20}) chain_rows(rows, d, n);
  step_rows(rows);
  plan_rows(rows);
  return rows;
}

Run setup(Options&) {
  return [](const Common& common) { return bench(common, measure); };
}

}  // namespace

const Command bench_compile_command = {"compile",
                                       "chains of pointwise calls and a training step, eager and compiled; planning a step",
                                       "dyadic bench compile --json", setup};

}  // namespace dyadic::inline v1::cli
