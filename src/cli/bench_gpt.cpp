// dyadic bench gpt: one training step of the presets' models on one batch.
#include "cli/bench_gpt.h"

#include <algorithm>
#include <memory>

#include "base/check.h"
#include "dyadic/amp.h"
#include "dyadic/counters.h"

namespace dyadic::inline v1::cli {
namespace {

struct GptOptions {
  std::vector<std::string> presets{"char"}, precisions{"f32"};
  int steps = 0;
};

models::GptConfig config_of(const study::Preset& p) {
  models::GptConfig c = p.setup.model;
  c.vocab = std::max<int64_t>(c.vocab, p.name == "nano" ? 64 : p.name == "baby" ? 256 : 65);
  return c;
}

Row step_row(const study::Preset& p, bool low, int steps) {
  manual_seed(0);
  GptStep train(p, low);
  Tensor x, y;
  {
    CategoryScope scope(Category::data);
    x = randint(0, train.config.vocab, {train.batch, train.config.block});
    y = randint(0, train.config.vocab, {train.batch, train.config.block});
  }
  auto step = [&] { train(x, y); };
  const double flops = flops_of(step);
  if (!steps) steps = steps_for(step);
  return flops_row("gpt/" + p.name, low ? "bf16" : "f32", time_runs(2, steps, step), flops,
                   low ? Peak::flops_bf16 : Peak::flops_f32);
}

Run setup_bench_gpt(Options& options) {
  auto o = std::make_shared<GptOptions>();
  options
      .value("--preset", o->presets, "P", "char, baby, gpt2s, nano, nanogpt-cpu; several may follow (default: char)",
             [](const std::string& text) { study::preset(text); })
      .value("--precision", o->precisions, "D", "f32, bf16 (autocast); both may follow (default: f32)", check_precision)
      .value("--steps", o->steps, "N", "steps to time (default: what four seconds hold)", at_least(1));
  return [o](const Common& common) {
    return bench(common, [&] {
      std::vector<Row> rows;
      for (const std::string& p : o->presets)
        for (const std::string& d : o->precisions) {
          rows.push_back(step_row(study::preset(p), d == "bf16", o->steps));
          empty_cache();
        }
      return rows;
    });
  };
}

}  // namespace

GptStep::GptStep(const study::Preset& p, bool low)
    : low_(low), config(config_of(p)), batch(p.setup.batch), model(config), optimizer(model.named_parameters()) {}

void GptStep::operator()(const Tensor& tokens, const Tensor& targets) {
  Tensor loss;
  {
    Autocast autocast(bf16, low_);
    loss = model.loss(tokens, targets);
  }
  loss.backward();
  optimizer.step();
  optimizer.zero_grad();
}

double flops_of(FunctionRef<void()> step) {
  Counting::clear();
  {
    Counting counting;
    step();
  }
  return Counting::flops();
}

int steps_for(FunctionRef<void()> step) { return int(std::clamp(4.0 / time_runs(0, 1, step).min, 9.0, 100.0)); }

void check_precision(const std::string& text) {
  DY_CHECK_AS(ValueError, text == "f32" || text == "bf16", "unknown precision \"{}\"; the known ones are f32, bf16", text);
}

const Command bench_gpt_command = {"gpt", "a GPT's training step: forward, backward, fused AdamW",
                                   "dyadic bench gpt --preset char baby --precision f32 bf16 --json", setup_bench_gpt};

}  // namespace dyadic::inline v1::cli
