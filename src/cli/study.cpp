// dyadic study: which precision, for my model, on my machine, and what do I lose?
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "base/check.h"
#include "base/interrupt.h"
#include "base/text.h"
#include "cli/command.h"
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
  std::vector<std::string> recipes, data;  // none: all, the text built in
  std::string preset = "char", tokens, time, tolerance = "1%", minimize = "memory";
  int64_t steps = 0;
  uint64_t seed = 0;
};

int run_study(Given& g, const Common& common) {
  study::StudyRequest& q = g.request;
  const study::Preset& preset = study::preset(g.preset);
  q.tolerance = parse_share(g.tolerance);
  q.minimize = g.minimize == "time" ? study::Minimize::time : study::Minimize::memory;
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
  setup.seed = g.seed;
  corpus.require(setup.model.block, setup.batch);
  q.name = g.preset;
  q.plan = setup.plan();
  study::TextSubject subject(setup, corpus, g.preset);
  train::Progress progress;
  study::Study o = study::run_study(subject, q, progress);
  if (common.json) {
    print(study::report_json(o.result));
  } else {
    bool terminal = isatty(STDOUT_FILENO);
    print(study::report_text(o.result, {.width = columns(), .color = terminal && !std::getenv("NO_COLOR")}));
    print(fmt::format("\nReport: {}/report.html  ({})\n", o.folder, human_duration(o.result.seconds)));
  }
  if (!o.interrupted) return kDone;
  std::string again = q.out.empty() && o.folder != "study-" + g.preset ? " --out " + o.folder : "";
  fmt::print(stderr, "interrupted: the report so far and a checkpoint are in {}; go on with the same command and --resume{}\n",
             o.folder, again);
  return kInterrupted;
}

void one_of(const std::string& text, const char* a, const char* b) {
  DY_CHECK_AS(ValueError, text == a || text == b, "{} is neither {} nor {}", text, a, b);
}

Run setup(Options& o) {
  auto g = std::make_shared<Given>();
  study::StudyRequest& q = g->request;
  o.value("--data", g->data, "FILE|DIR", "text files and folders to train on (default: a text built into the program)");
  o.value("--preset", g->preset, "NAME",
          "the model and how it is trained: nano, char, baby, gpt2s, nanogpt-cpu (default: char)",
          [](const std::string& t) { study::preset(t); });
  o.value("--tokens", g->tokens, "KIND", "what a token is: bytes or chars (default: the preset's, else bytes)",
          [](const std::string& t) { study::parse_token_kind(t); });
  o.value("--recipe", g->recipes, "R", "train under this recipe (repeatable; default: all; f32 always runs)",
          [](const std::string& t) { study::recipe(t); });
  o.value("--format", q.formats, "F", "store the weights in this format (repeatable; default: all)",
          [](const std::string& t) { check_encodes(*DType::parse(t).format()); });
  o.value("--steps", g->steps, "N", "training steps per recipe (default: the preset's, else 1000)", at_least(1));
  o.value("--time", g->time, "T", "fill about this much time instead: 90s, 2m, 1h", [](const std::string& t) { duration(t); });
  o.value("--seeds", q.seeds, "K", "train each recipe this often, from different weights (default: 1)", between(1, 100));
  o.value("--tolerance", g->tolerance, "SHARE", "loss that may be given up, as a share of f32's (default: 1%)");
  o.value("--minimize", g->minimize, "WHAT", "what the recommendation saves: memory (default) or time",
          [](const std::string& t) { one_of(t, "memory", "time"); });
  o.flag("--per-layer", q.per_layer,
         "also store one module at a time: where a format's loss comes from, and which modules to spare");
  o.flag("--shadow", q.shadow, "also which modules round, overflow and lose updates: 16 sampled steps beside wider results");
  o.value("--out", q.out, "DIR", "folder of the report (default: study-PRESET, or the next free number)");
  o.flag("--resume", q.resume, "go on with an interrupted study, to the same bits as an unbroken one");
  o.value("--seed", g->seed, "N", "of the first run's weights and batches (default: 0)");
  return [g](const Common& common) { return run_study(*g, common); };
}

}  // namespace

extern const Command study_command;
const Command study_command = {"study", "train a model in every precision, quantize it, and show what each costs",
                               "dyadic study --data notes/ --preset char --steps 1000 --out my-study", setup};

}  // namespace dyadic::inline v1::cli
