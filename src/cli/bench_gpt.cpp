// dyadic bench gpt: one training step of the presets' models: forward, backward, fused AdamW.
#include <algorithm>
#include <memory>

#include "base/check.h"
#include "cli/bench.h"
#include "dyadic/amp.h"
#include "dyadic/counters.h"
#include "dyadic/gpt.h"
#include "dyadic/optim.h"

namespace dyadic::inline v1::cli {
namespace {

struct GptOptions {
  std::vector<std::string> presets{"char"}, precisions{"f32"};
  int steps = 0;
};

// Random tokens, no dropout. bf16: autocast over f32 weights.
Row step_row(const models::Preset& p, bool low, int steps) {
  manual_seed(0);
  models::Gpt model(p.config);
  optim::AdamW optimizer(model.named_parameters());
  Tensor x, y;
  {
    CategoryScope scope(Category::data);
    x = randint(0, p.config.vocab, {p.batch, p.config.block});
    y = randint(0, p.config.vocab, {p.batch, p.config.block});
  }
  auto step = [&] {
    Tensor loss;
    {
      Autocast autocast(bf16, low);
      loss = model.loss(x, y);
    }
    loss.backward();
    optimizer.step();
    optimizer.zero_grad();
  };
  Counting::clear();
  {
    Counting counting;
    step();
  }
  double flops = Counting::flops();
  // About four seconds: 9 steps at least, 100 at most, when their number is not given.
  if (!steps) steps = int(std::min(std::max(4.0 / time_runs(0, 1, step).min, 9.0), 100.0));
  return flops_row("gpt/" + p.name, low ? "bf16" : "f32", time_runs(2, steps, step), flops,
                   low ? Peak::flops_bf16 : Peak::flops_f32);
}

void check_precision(const std::string& text) {
  DY_CHECK_AS(ValueError, text == "f32" || text == "bf16", "unknown precision \"{}\"; the known ones are f32, bf16", text);
}

Run setup(Options& options) {
  auto o = std::make_shared<GptOptions>();
  options
      .value("--preset", o->presets, "P", "char, baby, gpt2s, nano; several may follow (default: char)",
             [](const std::string& text) { models::preset(text); })
      .value("--precision", o->precisions, "D", "f32, bf16 (autocast); both may follow (default: f32)", check_precision)
      .value("--steps", o->steps, "N", "steps to time (default: what four seconds hold)", at_least(1));
  return [o](const Common& common) {
    return bench(common, [&] {
      std::vector<Row> rows;
      for (const std::string& p : o->presets)
        for (const std::string& d : o->precisions) {
          rows.push_back(step_row(models::preset(p), d == "bf16", o->steps));
          empty_cache();
        }
      return rows;
    });
  };
}

}  // namespace

const Command bench_gpt_command = {"gpt", "a GPT's training step: forward, backward, fused AdamW",
                                   "dyadic bench gpt --preset char baby --precision f32 bf16 --json", setup};

}  // namespace dyadic::inline v1::cli
