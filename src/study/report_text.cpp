// The report on a terminal.
#include "study/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "study/corpus_files.h"
#include "study/measure.h"
#include "study/numbers.h"
#include "study/recommend.h"
#include "study/rounding.h"
#include "study/step_times.h"
#include "study/text_table.h"
#include "study/words.h"

namespace dyadic::inline v1::study {

namespace {
constexpr const char *kBold = "\x1b[1m", *kDim = "\x1b[2m", *kPicked = "\x1b[1;32m", *kReset = "\x1b[0m";

struct Report {
  const StudyResult& s;
  const TextOptions& o;
  std::string out;

  void heading(std::string_view text, std::string_view aside = {}) {
    out += o.color ? fmt::format("\n{}{}{}", kBold, text, kReset) : fmt::format("\n{}", text);
    if (!aside.empty()) out += o.color ? fmt::format("  {}{}{}", kDim, aside, kReset) : fmt::format("  ({})", aside);
    out += "\n";
  }
  void field(std::string_view name, const std::string& text) {
    const std::string wrapped = wrap_text(text, o.width, "            ");
    out += fmt::format("  {:<10}{}", name, wrapped.size() > 12 ? wrapped.substr(12) : wrapped);
  }
  void table(const TextTable& t) { out += t.text(o.width, o.color); }
  // Below a table of modules: what there was no room for.
  void left_out(const TextTable& t, size_t modules) {
    const size_t recipes = t.columns.size() - t.shown(o.width).size();
    std::string more;
    const auto add = [&](size_t n, const char* what) {
      if (n) more += fmt::format("{}{} more {}{}", more.empty() ? "" : " and ", n, what, n == 1 ? "" : "s");
    };
    add(modules, "module"), add(recipes, "recipe");
    if (!more.empty()) out += wrap_text(fmt::format("and {}, in report.html", more), o.width, "    ");
  }
  std::string verdict(const std::string& name, const LossDelta& d) const {
    if (name == "f32" || !std::isfinite(d.upper)) return kDash;
    if (!std::isfinite(d.se)) return within_tolerance(s, d) ? "yes?" : "no?";  // its error is not known
    return within_tolerance(s, d) ? "yes" : "no";
  }
  std::string style(bool picked, Status status) const { return picked ? kPicked : status == Status::done ? "" : kDim; }
  std::string metric_title() const { return display_width(s.measure.metric) <= 16 ? s.measure.metric : "metric"; }
  std::string within() const { return fmt::format("in {}", tolerance_text(s.options.tolerance)); }

  void head();
  void recipes();
  void memory();
  void rounding();
  void troubles();
  void formats();
  void layers();
  void modules();
  void answer();
};

std::string delta_and_error(const StudyResult& s, const LossDelta& d) {
  if (!std::isfinite(d.delta)) return kDash;
  return d.delta == 0 && d.se == 0 ? "0" : fmt::format("{} \u00b1 {}", change_text(s, d.delta), error_text(d.se));
}

std::string rate(double x, const char* unit) { return std::isfinite(x) ? fmt::format("{}{}", quantity_text(x), unit) : kDash; }

std::string format_name(const std::string& name, bool picked) { return (picked ? "\u25b8 " : "  ") + name; }

std::string shown_status(Status status, const std::string& name) {
  if (status == Status::done) return name;
  return fmt::format("{} ({})", name, status == Status::running ? "interrupted" : status_name(status));
}

void Report::head() {
  const Machine& m = s.machine;
  const CorpusInfo& c = s.corpus;
  const ModelInfo& g = s.model;
  out += fmt::format("{}Precision study{}  dyadic {}\n\n", o.color ? kBold : "", o.color ? kReset : "", s.version);
  std::string peaks = fmt::format("{} f32", rate(m.flops_peak, "FLOP/s"));
  if (std::isfinite(m.flops_peak_bf16)) peaks += fmt::format(", {} bf16", rate(m.flops_peak_bf16, "FLOP/s"));
  field("machine", fmt::format("{}, {} thread{}, {}; peak {}, {}; {}", printable(m.cpu), m.threads, m.threads == 1 ? "" : "s",
                               m.isa, peaks, rate(m.bytes_per_s_peak, "B/s"), bytes_text(m.memory)));
  if (is_text(s)) {
    field("corpus",
          fmt::format("{}: {} bytes, sha256 {}; {} {} tokens to train, {} to validate; single bytes there: {} nats",
                      printable(c.source), count_text(c.bytes), c.sha256.substr(0, 12), count_text(c.train_tokens),
                      c.tokens == "chars" ? "character" : "byte", count_text(c.val_tokens), loss_text(c.unigram_nats)));
    field("model",
          fmt::format("{}: {} layers, {} heads, {} wide, block {}, batch {}, vocabulary {}; {} parameters", g.preset, g.layers,
                      g.heads, g.width, g.block, g.batch, count_text(g.vocabulary), count_text(g.parameters)));
  } else {
    field("model", fmt::format("{}: {} parameters{}", g.preset, count_text(g.parameters),
                               g.batch ? fmt::format(", batches of {} samples", g.batch) : ""));
    if (!s.training.empty()) field("training", s.training);
  }
  const std::string trained = s.recipes.empty()
                                  ? "no training"
                                  : fmt::format("{} steps per recipe, seed {}{}", count_text(s.options.steps), s.options.seed,
                                                s.options.seeds > 1 ? fmt::format(", {} seeds", s.options.seeds) : "");
  field("run", fmt::format("{}; {}{}", trained, elapsed_text(s.seconds), s.complete ? "" : "; interrupted, the report so far"));
  for (const std::string& note : c.notes) field("note", printable(note));
  for (const std::string& note : s.notes) field("note", printable(note));
}

void Report::recipes() {
  if (s.recipes.empty()) return;
  const bool metric = !s.measure.metric.empty();
  heading("Training",
          fmt::format("{}\u0394: difference from f32{} \u00b1 its standard error",
                      s.measure.unit.empty() ? "" : fmt::format("loss in {} per {}; ", s.measure.unit, s.measure.item),
                      metric ? (metric_title() == s.measure.metric ? " in " : " in the metric, ") + s.measure.metric : ""));
  TextTable t;
  t.columns = {{"  recipe", true, 0}, {"val loss", false, 0}, {"\u0394 to f32", false, 0},
               {within(), false, 0},  {"ms/step", false, 0},  {s.measure.item + "s/s", false, 1},
               {"FLOP/s", false, 3},  {"of peak", false, 2},  {"peak mem", false, 0}};
  if (metric) t.columns.insert(t.columns.begin() + 2, {metric_title(), false, 0});
  for (const RecipeResult& r : s.recipes) {
    const bool picked = r.name == s.recommendation.recipe;
    t.rows.push_back({format_name(shown_status(r.status, r.name), picked), loss_text(r.val_loss),
                      delta_and_error(s, judged(s, r)), verdict(r.name, judged(s, r)), milliseconds_text(r.step_ms),
                      quantity_text(r.tokens_per_s), quantity_text(r.flops_per_s), percent_text(r.mfu),
                      bytes_text(r.bytes.peak.measured)});
    if (metric) t.rows.back().insert(t.rows.back().begin() + 2, loss_text(r.metric));
    t.styles.push_back(style(picked, r.status));
  }
  table(t);
}

void Report::memory() {
  if (s.recipes.empty()) return;
  heading("Training memory", "each category's own peak; the whole also as predicted");
  TextTable t;
  t.columns = {{"  recipe", true, 0}, {"params", false, 0},    {"grads", false, 0}, {"states", false, 0},
               {"activ.", false, 0},  {"workspace", false, 2}, {"peak", false, 0},  {"predicted", false, 0},
               {"error", false, 1},   {"resident", false, 3}};
  for (const RecipeResult& r : s.recipes) {
    const Bytes& b = r.bytes;
    const bool picked = r.name == s.recommendation.recipe, both = b.peak.predicted && b.peak.measured && *b.peak.measured > 0;
    t.rows.push_back({format_name(r.name, picked), bytes_text(b.parameters.measured), bytes_text(b.gradients.measured),
                      bytes_text(b.optimizer.measured), bytes_text(b.activations.measured), bytes_text(b.workspace.measured),
                      bytes_text(b.peak.measured), bytes_text(b.peak.predicted),
                      percent_text(both ? double(*b.peak.predicted) / double(*b.peak.measured) - 1 : kUnknown),
                      bytes_text(r.resident_peak)});
    t.styles.push_back(style(picked, r.status));
  }
  table(t);
}

void Report::rounding() {
  if (s.recipes.empty()) return;
  size_t sampled = 0;
  for (const RecipeResult& r : s.recipes) sampled = std::max(sampled, r.sampled_steps.size());
  heading("Rounding",
          fmt::format("lost: a step rounded to nothing; the rest on {} sampled step{}", sampled, sampled == 1 ? "" : "s"));
  TextTable t;
  t.columns = {{"  recipe", true, 0},
               {"lost updates", false, 0},
               {"skipped steps", false, 0},
               {"overflows", false, 0},
               {"flushed", false, 0}};
  for (const RecipeResult& r : s.recipes) {
    const bool picked = r.name == s.recommendation.recipe;
    t.rows.push_back({format_name(r.name, picked), percent_text(r.lost_updates), count_text(r.skipped_steps),
                      count_text(r.overflows), count_text(r.flushed)});
    t.styles.push_back(style(picked, r.status));
  }
  table(t);
}

void Report::troubles() {
  std::string busy;
  for (const RecipeResult& r : s.recipes) {
    if (!r.error.empty()) out += wrap_text(fmt::format("{} failed {}", r.name, printable(r.error)), o.width, "  ");
    if (r.nan) {
      out += wrap_text(
          fmt::format("{} stopped at step {}: the loss was not finite; the first op to produce such a value was {} in {}.",
                      r.name, r.nan->step, r.nan->op, r.nan->module.empty() ? "the model" : r.nan->module),
          o.width, "  ");
    }
    if (r.step_spread > kSpreadWorthSaying)
      busy += fmt::format("{}{} by {}", busy.empty() ? "" : ", ", r.name, percent_text(r.step_spread));
  }
  const auto most = std::max_element(s.recipes.begin(), s.recipes.end(), [](const RecipeResult& a, const RecipeResult& b) {
    return !(a.sampling >= b.sampling) && std::isfinite(b.sampling);
  });
  if (most != s.recipes.end() && std::isfinite(most->sampling))
    out += wrap_text(
        fmt::format("The study's own time is at most {} of that of training ({}).", percent_text(most->sampling), most->name),
        o.width, "  ");
  if (!busy.empty())
    out += wrap_text(fmt::format("Step times are medians of turns that spread: {}; something else ran.", busy), o.width, "  ");
}

void Report::formats() {
  if (s.formats.empty()) return;
  const bool metric = !s.measure.metric.empty();
  heading("Weights stored in fewer bits",
          s.recipes.empty() ? "evaluated from storage" : "what f32 trained, evaluated from storage");
  TextTable t;
  t.columns = {{"  format", true, 0},  {"bits", false, 0},          {"bytes", false, 0},
               {"val loss", false, 1}, {"\u0394 to f32", false, 0}, {within(), false, 0},
               {"KL", false, 3},       {"top-1", false, 2},         {s.measure.item + "s/s", false, 4}};
  if (!compares_logits(s)) t.columns.erase(t.columns.begin() + 6, t.columns.begin() + 8);
  if (metric) t.columns.insert(t.columns.begin() + 4, {metric_title(), false, 0});
  for (const FormatResult& f : s.formats) {
    const bool picked = f.name == s.recommendation.uniform;
    t.rows.push_back({format_name(shown_status(f.status, f.name), picked),
                      std::isfinite(f.bits_per_weight) ? fmt::format("{:.2f}", f.bits_per_weight) : kDash, bytes_text(f.bytes),
                      loss_text(f.val_loss), delta_and_error(s, judged(s, f)), verdict(f.name, judged(s, f)), small_text(f.kl),
                      percent_text(f.top1_agreement), quantity_text(f.tokens_per_s)});
    auto& row = t.rows.back();
    if (!compares_logits(s)) row.erase(row.begin() + 6, row.begin() + 8);
    if (metric) row.insert(row.begin() + 4, loss_text(f.metric));
    t.styles.push_back(style(picked, f.status));
  }
  table(t);
  for (const FormatResult& f : s.formats)
    if (!f.error.empty()) out += wrap_text(fmt::format("{} failed: {}", f.name, printable(f.error)), o.width, "  ");
}

void Report::layers() {
  constexpr size_t kRows = 12;
  if (!s.layers) return;
  heading(fmt::format("Where {} loses", s.layers->format), "each module stored alone, and all but it; the worst first");
  TextTable t;
  t.columns = {
      {"  module", true, 0}, {"bytes", false, 1}, {"alone, \u0394 to f32", false, 0}, {"spared, \u0394 to all", false, 0}};
  for (size_t i = 0; i < std::min(kRows, s.layers->modules.size()); ++i) {
    const ModuleLoss& m = s.layers->modules[i];
    t.rows.push_back({format_name(m.module + (m.kept ? " (kept in " + s.layers->keep + ")" : ""), m.kept),
                      bytes_text(Count(m.stored_bytes)), delta_and_error(s, m.alone), delta_and_error(s, m.spared)});
    t.styles.push_back(style(m.kept, Status::done));
  }
  table(t);
  left_out(t, s.layers->modules.size() - t.rows.size());
}

void Report::modules() {
  constexpr size_t kRows = 12;
  const std::vector<ModuleRow> rows = module_rows(s);
  if (rows.empty()) return;
  heading("Which modules round", "relative error of results beside wider ones, what is inside included; the worst first");
  TextTable t;
  t.columns = {{"  module", true, 0}};
  std::vector<const RecipeResult*> looked_into;
  for (const RecipeResult& r : s.recipes)
    if (!r.modules.empty()) looked_into.push_back(&r);
  std::vector<size_t> order(looked_into.size());  // the recommended one first, where room is for some
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_partition(order.begin(), order.end(), [&](size_t k) { return looked_into[k]->name == s.recommendation.recipe; });
  for (size_t k : order) {
    const bool picked = looked_into[k]->name == s.recommendation.recipe;
    t.columns.push_back({(picked ? "\u25b8 " : "") + short_name(looked_into[k]->name, 16), false, int(t.columns.size()) - 1});
  }
  for (size_t i = 0; i < std::min(kRows, rows.size()); ++i) {
    t.rows.push_back({format_name(std::string(size_t(2 * rows[i].depth), ' ') + rows[i].name, false)});
    for (size_t k : order) t.rows.back().push_back(small_text(rows[i].recipes[k].error()));
    t.styles.push_back("");
  }
  table(t);
  left_out(t, rows.size() - t.rows.size());
}

void Report::answer() {
  heading("Recommendation");
  const std::string answer = wrap_text(headline(s), o.width, "  ");
  out += o.color ? fmt::format("{}{}{}", kPicked, answer, kReset) : answer;
  out += wrap_text(s.recommendation.why, o.width, "  ");
}
}  // namespace

std::string report_text(const StudyResult& result, const TextOptions& options) {
  Report r{result, options, {}};
  r.head();
  r.recipes();
  r.troubles();
  r.memory();
  r.rounding();
  r.formats();
  r.layers();
  r.modules();
  r.answer();
  return std::move(r.out);
}

}  // namespace dyadic::inline v1::study
