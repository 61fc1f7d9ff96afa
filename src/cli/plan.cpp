// dyadic plan: what training takes, and how it fits into less.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "cli/command.h"
#include "cli/json.h"
#include "cli/kv.h"
#include "cli/plan_model.h"
#include "cli/training_options.h"
#include "device/limit.h"
#include "dyadic/finetune.h"
#include "study/memory_plan.h"

namespace dyadic::inline v1::cli {
namespace {

struct Given {
  ModelPlan model;
  std::string preset, recipe, tokens;
  std::vector<std::string> data, allow;
  study::TrainSetup setup;
  int64_t context = 0;
  Options options;
};

Json document(const PlanCandidate& c) {
  const study::Bytes& b = c.bytes;
  return {{"name", c.name},
          {"repeated_calls", c.again},
          {"accumulate", c.accumulate},
          {"states", c.states.name()},
          {"exact", c.exact},
          {"allowed", c.allowed},
          {"fits", c.fits},
          {"ms_per_step", number(c.seconds * 1e3)},
          {"bytes",
           {{"parameters", *b.parameters.predicted},
            {"gradients", *b.gradients.predicted},
            {"optimizer", *b.optimizer.predicted},
            {"activations", *b.activations.predicted},
            {"workspace", *b.workspace.predicted},
            {"peak", c.peak()}}}};
}

Json document(const MemoryPlan& p) {
  Json all = Json::array();
  for (const PlanCandidate& c : p.candidates) all.push_back(document(c));
  return {{"memory_limit", p.limit ? Json(p.limit) : Json(nullptr)},
          {"fits", p.fits()},
          {"least", p.least()},
          {"least_if_all_is_allowed", p.least(false)},
          {"chosen", p.fits() ? document(p.chosen()) : Json(nullptr)},
          {"candidates", all}};
}

int columns() {
  winsize w{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 120;
}

int run_plan(Given& g, const Common& common) {
  if (!g.model.model.empty()) {
    if (!g.preset.empty() || !g.recipe.empty() || !g.tokens.empty() || !g.data.empty() || !g.allow.empty())
      throw UsageError(
          "plan: --preset, --recipe, --data, --tokens and --allow are of a model that is trained anew; leave them "
          "out, or leave out " +
          g.model.model);
    g.model.context = g.context;
    if (g.setup.batch) g.model.batch = g.setup.batch;
    return plan_model(g.model, common);
  }
  const int64_t limit = memory_limit();
  const WithoutLimit planning;  // it allocates nothing of the model's size
  if (g.preset.empty()) g.preset = "char";
  g.options.take("plan: preset " + g.preset, study::preset(g.preset).document);
  if (g.recipe.empty()) g.recipe = "f32";
  if (g.tokens.empty()) g.tokens = "bytes";
  if (!g.model.formats.empty() || !g.model.kv.empty() || !g.model.lora.empty())
    throw UsageError("plan: --format, --kv and --lora are for a model that is there: dyadic plan MODEL");
  if (g.context) g.setup.model.block = g.context;
  if (!g.setup.batch) g.setup.batch = study::TrainSetup().batch;
  const study::Corpus corpus = study::Corpus::load(g.data, study::parse_token_kind(g.tokens));
  g.setup.model.vocab = std::max(g.setup.model.vocab, corpus.vocabulary().size());
  study::TextSubject subject(g.setup, corpus, g.preset);
  const MemoryPlan p =
      study::plan_training(subject, study::recipe(g.recipe), g.setup.plan(), limit, study::Allowed::parse(g.allow));
  print(common.json ? json_text(document(p)) : p.text(columns(), isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR")));
  return p.fits() ? kDone : kFailed;
}

Run setup(Options& options) {
  auto g = std::make_shared<Given>(Given{.setup = {}, .options = options});
  g->setup.model.vocab = g->setup.batch = 0;  // not said
  Options& list = g->options;
  list.value("--model,model", g->model.model, "MODEL",
             "a language model: its folder or GGUF file; what it takes to make text and to be fine-tuned, in each format")
      .value("--format", g->model.formats, "F",
             "of MODEL: what its weights are in (repeatable; default: bf16 i8(row) q8_0 q6_K q5_K nf4 q4_K q3_K q2_K)",
             [](const std::string& text) { DType::parse(text); })
      .value("--kv", g->model.kv, "FORMAT", kKvHelp, check_kv)
      .value("--lora", g->model.lora, "WORDS",
             "of MODEL: the adapter it is fine-tuned by, or none: all weights (default: rank=16)",
             [](const std::string& text) { text == "none" ? void() : void(tune::parse_lora(text)); })
      .value("--preset", g->preset, "P", "model and training: nano, char, baby, gpt2s, nanogpt-cpu (default: char)",
             [](const std::string& text) { study::preset(text); })
      .value("--recipe", g->recipe, "R", "precision it trains in: f32, bf16, f16, pure-bf16 ... (default: f32)",
             [](const std::string& text) { study::recipe(text); })
      .value("--allow", g->allow, "WHAT", kAllowDoc, check_allowed)
      .value("--context", g->context, "N",
             "the same as --block; of MODEL: prompt and answer together (default: what it reads, at most 2048)", at_least(1))
      .value("--data", g->data, "FILE|DIR",
             "text files and folders, for the vocabulary (default: a text built into the program)")
      .value("--tokens", g->tokens, "KIND", "what a token is: bytes or chars (default: the preset's, else bytes)",
             [](const std::string& text) { study::parse_token_kind(text); });
  for (const study::Setting& s : study::settings(g->setup)) add_setting(list, s);
  return [g](const Common& common) { return run_plan(*g, common); };
}

}  // namespace

extern const Command plan_command;
const Command plan_command = {"plan", "what training takes, and how it fits into --memory-limit, before anything is allocated",
                              "dyadic plan --preset gpt2s --batch 8 --memory-limit 4G", setup};

}  // namespace dyadic::inline v1::cli
