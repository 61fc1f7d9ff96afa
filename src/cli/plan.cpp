// dyadic plan: what training takes, and how it fits into less.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "cli/command.h"
#include "cli/json.h"
#include "cli/training_options.h"
#include "device/limit.h"
#include "study/memory_plan.h"

namespace dyadic::inline v1::cli {
namespace {

struct Given {
  std::string preset = "char", recipe = "f32", tokens = "bytes";
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
  const int64_t limit = memory_limit();
  const WithoutLimit planning;  // it allocates nothing of the model's size
  g.options.take("plan: preset " + g.preset, study::preset(g.preset).document);
  if (g.context) g.setup.model.block = g.context;
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
  g->setup.model.vocab = 0;
  Options& list = g->options;
  list.value("--preset", g->preset, "P", "model and training: nano, char, baby, gpt2s, nanogpt-cpu (default: char)",
             [](const std::string& text) { study::preset(text); })
      .value("--recipe", g->recipe, "R", "precision it trains in: f32, bf16, f16, pure-bf16 ... (default: f32)",
             [](const std::string& text) { study::recipe(text); })
      .value("--allow", g->allow, "WHAT", kAllowDoc, check_allowed)
      .value("--context", g->context, "N", "the same as --block", at_least(1))
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
