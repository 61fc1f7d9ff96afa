// dyadic study: which precision, for my model, on my machine, and what do I lose?
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/check.h"
#include "base/text.h"
#include "cli/command.h"
#include "dyadic/distributed.h"
#include "dyadic/interrupt.h"
#include "dyadic/progress.h"
#include "dyadic/quant.h"
#include "dyadic/study.h"
#include "formats/format.h"
#include "study/preset.h"
#include "study/report_json.h"
#include "study/report_text.h"
#include "study/run.h"

namespace dyadic::inline v1::cli {
namespace {

// "1%" or "0.01".
double parse_share(const std::string& text) {
  char* end = nullptr;
  double v = std::strtod(text.c_str(), &end);
  bool percent = *end == '%';
  if (percent) ++end;
  if (end == text.c_str() || *end || !(v >= 0))
    throw UsageError(fmt::format("study: --tolerance {} is not a share; write 1% or 0.01", text));
  return percent ? v / 100 : v;
}
int columns() {
  winsize w{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 100;
}

struct Given {
  study::StudyRequest request;
  std::string model;                                // none: one that is trained here
  std::vector<std::string> recipes, data, methods;  // none: all, the text built in, to nearest alone
  std::string preset, tokens, time, tolerance = "1%", minimize = "memory", device = "cpu";
  int64_t steps = 0;
  std::optional<int64_t> window, samples;
  std::optional<uint64_t> seed;
};

// What was found, on standard output; where it lies; how to go on if it was interrupted.
int show(const study::Study& o, const std::string& usual_folder, const std::string& out, const Common& common) {
  if (common.json) {
    print(study::report_json(o.result));
  } else {
    bool terminal = isatty(STDOUT_FILENO);
    print(study::report_text(o.result, {.width = columns(), .color = terminal && !std::getenv("NO_COLOR")}));
    print(fmt::format("\nReport: {}/report.html  ({})\n", o.folder, human_duration(o.result.seconds)));
  }
  if (!o.interrupted) return kDone;
  std::string again = out.empty() && o.folder != usual_folder ? " --out " + o.folder : "";
  fmt::print(stderr, "interrupted: the report so far and a checkpoint are in {}; go on with the same command and --resume{}\n",
             o.folder, again);
  return kInterrupted;
}

int study_model(const Given& g, const Common& common) {
  const study::StudyRequest& q = g.request;
  if (!g.preset.empty() || !g.tokens.empty() || !g.recipes.empty() || g.steps || !g.time.empty() || q.seeds != 1 || q.shadow ||
      g.seed)
    throw UsageError(
        "study: a model that is there is not trained: leave out --preset, --tokens, --recipe, --steps, --time, --seeds, --seed "
        "and --shadow, or leave out " +
        g.model);
  if (distributed::world().size() > 1)
    throw UsageError("study: a model that is there is studied by one process; start it without mpirun");
  install_interrupt_handler();
  study::LanguageModelOptions o{.data = g.data, .formats = q.formats, .methods = g.methods};
  o.window = g.window.value_or(o.window), o.samples = g.samples.value_or(o.samples);
  o.tolerance = q.tolerance, o.minimize = q.minimize, o.per_layer = q.per_layer;
  o.out = q.out, o.resume = q.resume, o.command = common.line;
  const study::Study found = study::language_model(g.model, o);
  return show(found, "study-" + found.result.model.preset, q.out, common);
}

int run_study(Given& g, const Common& common) {
  study::StudyRequest& q = g.request;
  q.tolerance = parse_share(g.tolerance);
  q.minimize = g.minimize == "time" ? study::Minimize::time : study::Minimize::memory;
  if (!g.model.empty()) return study_model(g, common);
  if (!g.methods.empty() || g.window || g.samples)
    throw UsageError("study: --method, --window and --samples are for a model that is there: dyadic study MODEL");
  const std::string name = g.preset.empty() ? "char" : g.preset;
  const study::Preset& preset = study::preset(name);
  if (!g.time.empty()) q.time_s = duration(g.time);
  if (g.steps && q.time_s) throw UsageError("study: --steps and --time exclude each other; give one");
  if (g.steps) q.steps = g.steps;
  for (const std::string& name : g.recipes) q.recipes.push_back(study::recipe(name));
  q.command = common.line;
  install_interrupt_handler();
  const study::Corpus corpus =
      study::Corpus::load(g.data, g.tokens.empty() ? preset.tokens : study::parse_token_kind(g.tokens));
  study::TrainSetup setup = preset.setup;
  setup.model.vocab = std::max(setup.model.vocab, corpus.vocabulary().size());
  setup.seed = g.seed.value_or(0);
  corpus.require(setup.model.block, setup.batch);
  q.name = name;
  setup.device = g.device;
  q.plan = setup.plan();
  study::TextSubject subject(setup, corpus, name);
  const bool first = distributed::world().rank() == 0;
  train::Progress progress(train::Progress::of_ranks());
  const study::Study found = study::run_study(subject, q, progress);
  if (!first) return found.interrupted ? kInterrupted : kDone;
  return show(found, "study-" + name, q.out, common);
}

void one_of(const std::string& text, const char* a, const char* b) {
  DY_CHECK_AS(ValueError, text == a || text == b, "{} is neither {} nor {}", text, a, b);
}

Run setup_study(Options& o) {
  auto g = std::make_shared<Given>();
  study::StudyRequest& q = g->request;
  o.value(
      "--model,model", g->model, "MODEL",
      "a language model: its folder or GGUF file; its formats are compared, and nothing is trained (default: one is trained)");
  o.value("--data", g->data, "FILE|DIR",
          "text files and folders to train or judge on (default: a text built into the program)");
  o.value("--preset", g->preset, "NAME",
          "the model and how it is trained: nano, char, baby, gpt2s, nanogpt-cpu (default: char)",
          [](const std::string& t) { study::preset(t); });
  o.value("--tokens", g->tokens, "KIND", "what a token is: bytes or chars (default: the preset's, else bytes)",
          [](const std::string& t) { study::parse_token_kind(t); });
  o.value("--recipe", g->recipes, "R", "train under this recipe (repeatable; default: all; f32 always runs)",
          [](const std::string& t) { study::recipe(t); });
  o.value("--format", q.formats, "F", "store the weights in this format (repeatable; default: all)",
          [](const std::string& t) { check_encodes(*DType::parse(t).format()); });
  o.value("--device", g->device, "D", "where models are trained and judged: cpu, cuda or cuda:1 (default: cpu)",
          [](const std::string& t) { Device::parse(t); });
  o.value("--steps", g->steps, "N", "training steps per recipe (default: the preset's, else 1000)", at_least(1));
  o.value("--time", g->time, "T", "fill about this much time instead: 90s, 2m, 1h", [](const std::string& t) { duration(t); });
  o.value("--seeds", q.seeds, "K", "train each recipe this often, from different weights (default: 1)", between(1, 100));
  o.value("--tolerance", g->tolerance, "SHARE", "loss that may be given up, as a share of f32's (default: 1%)");
  o.value("--minimize", g->minimize, "WHAT", "what the recommendation saves: memory (default) or time",
          [](const std::string& t) { one_of(t, "memory", "time"); });
  o.flag("--per-layer", q.per_layer,
         "also store one module at a time: where a format's loss comes from, and which modules to spare");
  o.flag("--shadow", q.shadow, "also which modules round, overflow and lose updates: 16 sampled steps beside wider results");
  o.value("--method", g->methods, "M",
          "of MODEL: also store each --format by this method of quantization (repeatable; dyadic quantize --list)",
          [](const std::string& t) { quant::method(t); });
  o.value("--window", g->window, "N", "of MODEL: tokens that are seen at once (default: 256)", at_least(2));
  o.value("--samples", g->samples, "N", "of MODEL: windows of the text that are judged, at most (default: 64)", at_least(1));
  o.value("--out", q.out, "DIR", "folder of the report (default: study-PRESET or study-MODEL, or the next free number)");
  o.flag("--resume", q.resume, "go on with an interrupted study, to the same bits as an unbroken one");
  o.value("--seed", g->seed, "N", "of the first run's weights and batches (default: 0)");
  return [g](const Common& common) { return run_study(*g, common); };
}

}  // namespace

extern const Command study_command;
const Command study_command = {
    "study",
    "train a model in every precision, quantize it, or a model that is there, and show what each costs",
    "dyadic study --data notes/ --preset char --steps 1000 --out my-study",
    setup_study,
    {},
    true};

}  // namespace dyadic::inline v1::cli
