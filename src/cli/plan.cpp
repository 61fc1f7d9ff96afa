// dyadic plan: what training takes, and how it fits into less.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <optional>

#include "base/check.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/kv.h"
#include "cli/plan_model.h"
#include "cli/training_options.h"
#include "device/limit.h"
#include "dyadic/data_parallel.h"
#include "dyadic/finetune.h"
#include "study/memory_plan.h"
#include "study/ranks_plan.h"

namespace dyadic::inline v1::cli {
namespace {

struct Given {
  ModelPlan model;
  std::string preset, recipe, tokens;
  std::vector<std::string> data, allow;
  study::TrainSetup setup;
  int64_t context = 0;
  std::optional<int64_t> ranks;
  std::string link = "10G";
  double latency = 20, step_ms = 0;
  Options options;
};

double bits_per_second(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, text.data() + text.size());
  const double factor = unit.empty() ? 1 : unit == "M" ? 1e6 : unit == "G" ? 1e9 : 0;
  if (error != std::errc() || !(number * factor > 0))
    throw UsageError(fmt::format("plan: --link {}: bits a second, such as 10G or 800M", text));
  return number * factor;
}

Json document(const PlanCandidate& c) {
  const study::Bytes& b = c.bytes;
  return {{"name", c.name},
          {"repeated_calls", c.again},
          {"accumulate", c.accumulate},
          {"states", c.states.name()},
          {"on_disk", c.on_disk},
          {"activations_on_disk", c.activations_on_disk},
          {"disk_bytes_per_step", c.moved},
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

Json document(const study::RanksCandidate& c) {
  const study::Bytes& b = c.bytes;
  return {{"spread", distributed::spread_name(c.spread)},
          {"ranks", c.ranks},
          {"batch", c.batch},
          {"fits", c.fits},
          {"bytes_sent_per_step", c.sent},
          {"messages_per_step", c.messages},
          {"computing_ms", number(c.compute * 1e3)},
          {"network_ms", number(c.network * 1e3)},
          {"ms_per_step", number(c.seconds() * 1e3)},
          {"bytes",
           {{"parameters", *b.parameters.predicted},
            {"gradients", *b.gradients.predicted},
            {"optimizer", *b.optimizer.predicted},
            {"activations", *b.activations.predicted},
            {"workspace", *b.workspace.predicted},
            {"peak", *b.peak.predicted}}}};
}

Json document(const study::RanksPlan& p) {
  Json spreads = Json::array(), growth = Json::array();
  for (const study::RanksCandidate& c : p.spreads) spreads.push_back(document(c));
  for (const study::RanksCandidate& c : p.growth) growth.push_back(document(c));
  return {{"memory_limit", p.request.limit ? Json(p.request.limit) : Json(nullptr)},
          {"shards", p.request.shards},
          {"chosen", p.chosen < 0 ? Json(nullptr) : Json(distributed::spread_name(p.spreads[size_t(p.chosen)].spread))},
          {"spreads", spreads},
          {"growth", growth},
          {"network_limits_from", p.limited_from ? Json(p.limited_from) : Json(nullptr)}};
}

int columns() {
  winsize w{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 120;
}

int run_ranks(const Given& g, const study::Corpus& corpus, study::Subject& subject, int64_t limit, const Common& common) {
  const study::Recipe recipe = study::recipe(g.recipe);
  study::RanksRequest r{.ranks = *g.ranks, .link = bits_per_second(g.link) / 8, .latency = g.latency * 1e-6, .limit = limit};
  r.batch = g.setup.batch;
  r.shards = g.setup.shards ? g.setup.shards : std::max(r.ranks, std::min(distributed::kUsualShards, r.batch));
  if (g.step_ms > 0) r.scale = g.step_ms * 1e-3 / study::predicted_seconds(subject, recipe, g.setup.plan());
  const study::SubjectOf subject_of = [&](int64_t batch) {
    study::TrainSetup setup = g.setup;
    setup.batch = batch;
    return std::make_unique<study::TextSubject>(setup, corpus, g.preset);
  };
  const study::RanksPlan p = study::plan_ranks(subject_of, recipe, g.setup.plan(), r);
  print(common.json ? json_text(document(p)) : p.text(columns(), isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR")));
  return p.chosen < 0 ? kFailed : kDone;
}

int run_plan(Given& g, const Common& common) {
  if (!g.model.model.empty()) {
    if (!g.preset.empty() || !g.recipe.empty() || !g.tokens.empty() || !g.data.empty() || !g.allow.empty() || g.ranks)
      throw UsageError(
          "plan: --preset, --recipe, --data, --tokens, --allow and --ranks are of a model that is trained anew; leave them "
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
  if (g.ranks) return run_ranks(g, corpus, subject, limit, common);
  study::Plan training = g.setup.plan();
  training.offload_folder = ".";  // train has one, too
  const MemoryPlan p = study::plan_training(subject, study::recipe(g.recipe), training, limit, study::Allowed::parse(g.allow));
  print(common.json ? json_text(document(p)) : p.text(columns(), isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR")));
  return p.fits() ? kDone : kFailed;
}

Run setup_plan(Options& options) {
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
      .value("--ranks", g->ranks, "N",
             "a run on N ranks: what each --spread takes of memory, wire and time, and how far that goes", between(2, 4096))
      .value("--link", g->link, "RATE", "bits a second that a rank sends: 10G, 800M (default: 10G)",
             [](const std::string& text) { bits_per_second(text); })
      .value("--latency", g->latency, "US", "microseconds that a message takes beside them (default: 20)", between(0, 1e6))
      .value("--step-ms", g->step_ms, "MS",
             "milliseconds that a step takes on one rank, measured: times of computing go by it (default: predicted)",
             between(0, 1e9))
      .value("--shards", g->setup.shards, "N", "with --ranks: parts of a batch (default: 8, the batch or the ranks)",
             at_least(1))
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
                              "dyadic plan --preset gpt2s --batch 8 --memory-limit 4G", setup_plan};

}  // namespace dyadic::inline v1::cli
