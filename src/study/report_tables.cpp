// The tables of report.html.
#include "study/report_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "study/charts.h"
#include "study/measure.h"
#include "study/numbers.h"
#include "study/recommend.h"
#include "study/rounding.h"
#include "study/step_times.h"
#include "study/svg.h"

namespace dyadic::inline v1::study {

namespace {
struct Html {
  std::string out;
  void head(const std::vector<std::string>& titles) {
    out += "<div class=\"scroll\"><table>\n<thead><tr>";
    for (const std::string& t : titles) out += "<th>" + html_text(t) + "</th>";
    out += "</tr></thead>\n<tbody>\n";
  }
  void row(bool picked) { out += picked ? "<tr class=\"picked\">" : "<tr>"; }
  void cell(std::string_view text, std::string_view small = {}, std::string_view cls = {}) {
    out += cls.empty() ? "<td>" : fmt::format("<td class=\"{}\">", cls);
    out += html_text(text);
    if (!small.empty()) out += "<small>" + html_text(small) + "</small>";
    out += "</td>";
  }
  void end_row() { out += "</tr>\n"; }
  std::string end() { return std::move(out += "</tbody></table></div>\n"); }
};

// The figures of a model: its loss, its metric where there is one, and that one's difference to f32.
std::vector<std::string> judged_titles(const StudyResult& s) {
  std::vector<std::string> titles = {"validation loss"};
  if (!s.measure.metric.empty()) titles.push_back(s.measure.metric);
  titles.insert(titles.end(), {"to f32", "within " + tolerance_text(s.options.tolerance)});
  return titles;
}

void delta_cells(Html& h, const StudyResult& s, const std::string& name, const LossDelta& d) {
  if (name == "f32" || !std::isfinite(d.delta)) {
    h.cell(kDash);
    h.cell(kDash);
    return;
  }
  h.cell(fmt::format("{} \u00b1 {}", change_text(s, d.delta), error_text(d.se)),
         d.se_kind.empty() ? "" : fmt::format("error over {}s", d.se_kind == "token" ? s.measure.item : d.se_kind));
  const bool near = within_tolerance(s, d), falls = !s.measure.metric.empty() && s.measure.larger;
  if (!std::isfinite(d.se)) return h.cell(near ? "yes" : "no", "error not known", near ? "yes" : "no");
  h.cell(near ? "yes" : "no", fmt::format("{} {}", falls ? ">" : "<", change_text(s, d.upper)), near ? "yes" : "no");
}

template <class T> std::string state(const T& r) {
  const Status status = r.status;
  return status == Status::failed    ? "failed: " + r.error
         : status == Status::done    ? ""
         : status == Status::stopped ? "stopped: the loss was not finite"
         : status == Status::running ? "interrupted"
                                     : "not begun";
}

// Of a relative error: 0 below a millionth, 6 from a tenth.
int heat(double error) { return error > 0 ? std::clamp(int(std::floor(std::log10(error))) + 7, 0, 6) : 0; }

std::string events_text(const ModuleRounding& m) {
  std::string text = m.overflows ? count_text(m.overflows) + " over" : "";
  const auto add = [&](int64_t n, int64_t of, const char* what) {  // what is rarer than one in ten thousand is in report.json
    const double share = double(n) / double(std::max<int64_t>(of, 1));
    if (share >= 1e-4) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", percent_text(share), what);
  };
  add(m.flushed, m.elements, "zero");
  add(m.lost_updates, m.updates, "lost");
  return text;
}

std::string calls_text(const std::vector<DtypeCalls>& calls) {
  std::string text;
  for (const DtypeCalls& c : calls)
    text += fmt::format("{}{} {} in {}", text.empty() ? "" : ", ", count_text(c.calls), c.op, c.dtype);
  return text;
}
}  // namespace

std::string recipes_table(const StudyResult& s) {
  if (s.recipes.empty()) return "";
  Html h;
  h.out += "<h3>Recipes</h3>\n";
  std::vector<std::string> titles = judged_titles(s);
  titles.insert(titles.begin(), "recipe");
  for (const char* title : {"step", "FLOP/s", "peak memory", "resident", "lost updates", "overflows"}) titles.push_back(title);
  h.head(titles);
  for (const RecipeResult& r : s.recipes) {
    const std::string status = state(r);
    h.row(r.name == s.recommendation.recipe);
    h.cell(r.name, status.empty() ? r.doc : status);
    h.cell(loss_text(r.val_loss), std::isfinite(r.val_loss_se) ? "\u00b1 " + error_text(r.val_loss_se) : "");
    if (!s.measure.metric.empty()) h.cell(loss_text(r.metric));
    delta_cells(h, s, r.name, judged(s, r));
    const auto under = [](const std::string& text, const char* unit) { return text == kDash ? std::string() : text + unit; };
    h.cell(std::isfinite(r.step_ms) ? milliseconds_text(r.step_ms) + " ms" : kDash,
           r.step_spread > kSpreadWorthSaying ? "spreads by " + percent_text(r.step_spread)
                                              : under(quantity_text(r.tokens_per_s), (" " + s.measure.item + "s/s").c_str()));
    h.cell(quantity_text(r.flops_per_s), under(percent_text(r.mfu), " of peak"));
    h.cell(bytes_text(r.bytes.peak.measured), r.bytes.peak.predicted ? "predicted " + bytes_text(r.bytes.peak.predicted) : "");
    h.cell(bytes_text(r.resident_peak));
    h.cell(percent_text(r.lost_updates),
           under(count_text(r.skipped_steps), r.skipped_steps == Count(1) ? " step skipped" : " steps skipped"));
    h.cell(count_text(r.overflows), under(count_text(r.flushed), " flushed"));
    h.end_row();
  }
  return h.end();
}

std::string formats_table(const StudyResult& s) {
  if (s.formats.empty()) return "";
  Html h;
  h.out += "<h3>Formats</h3>\n";
  const bool compared = compares_logits(s);
  std::vector<std::string> titles = judged_titles(s);
  titles.insert(titles.begin(), {"format", "bits per weight", "bytes"});
  if (compared) titles.insert(titles.end(), {"KL", "top-1"});
  titles.push_back(s.measure.item + "s/s");
  h.head(titles);
  for (const FormatResult& f : s.formats) {
    h.row(f.name == s.recommendation.uniform);
    h.cell(f.name, state(f));
    h.cell(std::isfinite(f.bits_per_weight) ? fmt::format("{:.3f}", f.bits_per_weight) : kDash);
    h.cell(bytes_text(f.bytes), f.bytes ? count_text(f.bytes) : "");
    h.cell(loss_text(f.val_loss));
    if (!s.measure.metric.empty()) h.cell(loss_text(f.metric));
    delta_cells(h, s, f.name, judged(s, f));
    if (compared) {
      h.cell(small_text(f.kl), std::isfinite(f.kl_se) && f.kl > 0 ? "\u00b1 " + small_text(f.kl_se) : "");
      h.cell(percent_text(f.top1_agreement));
    }
    h.cell(quantity_text(f.tokens_per_s));
    h.end_row();
  }
  return h.end();
}

std::string layers_table(const StudyResult& s) {
  if (!s.layers) return "";
  const auto cell = [&](Html& h, const LossDelta& d) {
    h.cell(std::isfinite(d.delta) ? fmt::format("{} \u00b1 {}", change_text(s, d.delta), error_text(d.se)) : kDash);
  };
  Html h;
  h.out += fmt::format("<h3>Modules in {}</h3>\n", html_text(s.layers->format));
  h.head({"module", "bytes in f32", "stored", "it alone, to f32", "all but it, to all", "mixed recommendation"});
  for (const ModuleLoss& m : s.layers->modules) {
    h.row(m.kept);
    h.cell(m.module);
    h.cell(bytes_text(Count(m.bytes)));
    h.cell(bytes_text(Count(m.stored_bytes)));
    cell(h, m.alone);
    cell(h, m.spared);
    h.cell(!s.layers->bytes ? kDash : m.kept ? "kept in " + s.layers->keep : "stored");
    h.end_row();
  }
  return h.end();
}

std::string modules_table(const StudyResult& s) {
  constexpr size_t kRows = 60;
  const std::vector<ModuleRow> rows = module_rows(s);
  if (rows.empty()) return "";
  Html h;
  std::vector<std::string> titles = {"module"};
  for (const RecipeResult& r : s.recipes)
    if (!r.modules.empty()) titles.push_back(r.name);
  h.head(titles);
  for (size_t i = 0; i < std::min(kRows, rows.size()); ++i) {
    h.row(false);
    h.cell(rows[i].name, {}, fmt::format("at{}", std::min(rows[i].depth, 6)));
    for (const ModuleRounding& m : rows[i].recipes)
      h.cell(small_text(m.error()), events_text(m), fmt::format("heat{}", heat(m.error())));
    h.end_row();
  }
  std::string out = h.end();
  if (rows.size() > kRows) out += fmt::format("<p class=\"after\">{} more modules in report.json.</p>\n", rows.size() - kRows);
  return out;
}

std::string rounding_table(const StudyResult& s) {
  constexpr size_t kRows = 12;  // per recipe
  size_t steps = 0, events = 0;
  for (const RecipeResult& r : s.recipes) steps = std::max(steps, r.sampled_steps.size()), events += r.rounding.size();
  if (events == 0) return "";
  Html h;
  h.out += fmt::format("<details><summary>Where values overflowed or became zero, on {} sampled step{}</summary>\n", steps,
                       steps == 1 ? "" : "s");
  h.head({"recipe", "op", "module", "dtype", "overflows", "flushed to zero"});
  for (const RecipeResult& r : s.recipes) {
    std::vector<RoundingEvents> sorted = r.rounding;
    const auto key = [](const RoundingEvents& e) { return std::tuple(-e.overflows, -e.flushed, e.op, e.module, e.dtype); };
    std::sort(sorted.begin(), sorted.end(), [&](const RoundingEvents& a, const RoundingEvents& b) { return key(a) < key(b); });
    for (size_t i = 0; i < std::min(kRows, sorted.size()); ++i) {
      const RoundingEvents& e = sorted[i];
      h.row(false);
      h.cell(r.name);
      h.cell(e.op);
      h.cell(e.module);
      h.cell(e.dtype);
      h.cell(count_text(e.overflows));
      h.cell(count_text(e.flushed));
      h.end_row();
    }
  }
  return h.end() + "</details>\n";
}

namespace {
struct List {
  std::string out = "<dl>\n";
  void item(std::string_view name, std::string_view text) {
    if (!text.empty()) out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_text(name), html_text(text));
  }
  void code(std::string_view name, std::string_view text) {
    if (!text.empty()) out += fmt::format("<dt>{}</dt><dd><code>{}</code></dd>\n", html_text(name), html_text(text));
  }
};

void text_items(List& l, const StudyResult& s) {
  const CorpusInfo& c = s.corpus;
  const ModelInfo& g = s.model;
  l.item("Model",
         fmt::format("{}: GPT of {} layers, {} heads, {} wide, block {}, batch {}, vocabulary {}; {} parameters", g.preset,
                     g.layers, g.heads, g.width, g.block, g.batch, count_text(g.vocabulary), count_text(g.parameters)));
  l.item("Corpus",
         fmt::format("{}: {} bytes as {} tokens ({} of them), {} to train, {} to validate", c.source, count_text(c.bytes),
                     c.tokens == "chars" ? "character" : "byte", count_text(c.train_tokens + c.val_tokens),
                     count_text(c.train_tokens), count_text(c.val_tokens)));
  l.code("Its SHA-256", c.sha256);
  l.item("Entropy of single bytes",
         fmt::format("{} nats in the validation text: what knowing only their frequencies would reach",
                     loss_text(c.unigram_nats)));
  for (const std::string& note : c.notes) l.item("Note", note);
}

std::string files_list(const StudyResult& s) {
  const CorpusInfo& c = s.corpus;
  std::string out;
  if (c.files.size() > 1) {
    out += fmt::format("<details><summary>{} files</summary><dl>\n", count_text(int64_t(c.files.size())));
    for (const CorpusFile& f : c.files)
      out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", bytes_text(double(f.bytes)), html_text(f.path));
    out += "</dl></details>\n";
  }
  return out;
}
}  // namespace

std::string conditions_list(const StudyResult& s) {
  const Machine& m = s.machine;
  const ModelInfo& g = s.model;
  const Options& o = s.options;
  List l;
  l.code("Command", s.command);
  l.item("Machine", fmt::format("{}, {} core{}, {} thread{}, {}, {}, {}, {}", m.cpu, m.cores, m.cores == 1 ? "" : "s",
                                m.threads, m.threads == 1 ? "" : "s", m.isa, bytes_text(m.memory), m.os, m.compiler));
  const auto rate = [](double x, const char* unit) { return std::isfinite(x) ? quantity_text(x) + unit : std::string(kDash); };
  l.item("Its peak, probed", fmt::format("{} in f32, {} in bf16, {}", rate(m.flops_peak, "FLOP/s"),
                                         rate(m.flops_peak_bf16, "FLOP/s"), rate(m.bytes_per_s_peak, "B/s")));
  if (is_text(s)) {
    text_items(l, s);
  } else {
    l.item("Model", fmt::format("{}: {} parameters{}", g.kind, count_text(g.parameters),
                                g.batch ? fmt::format("; batches of {} samples", g.batch) : ""));
    if (!s.training.empty()) l.item("Training", s.training);
  }
  for (const std::string& note : s.notes) l.item("Note", note);
  double sampling = kUnknown;
  for (const RecipeResult& r : s.recipes) sampling = std::fmax(sampling, r.sampling);
  if (std::isfinite(sampling))
    l.item("The study's own time",
           fmt::format("comparing steps with wider ones, and what is kept on the way, adds at most {} to what a recipe's plain "
                       "steps take, those of training alone",
                       percent_text(sampling)));
  const std::string trained = s.recipes.empty()
                                  ? "no training"
                                  : fmt::format("{} steps per recipe{}, {} seed{} beginning with {}", count_text(o.steps),
                                                o.time_s ? fmt::format(" (chosen for {})", elapsed_text(*o.time_s)) : "",
                                                o.seeds, o.seeds == 1 ? "" : "s", o.seed);
  l.item("Run", fmt::format("{}, tolerance {}, least {}; {} in all", trained, tolerance_text(o.tolerance),
                            minimize_name(o.minimize), elapsed_text(s.seconds)));
  std::string out = l.out + "</dl>\n" + files_list(s);
  if (s.recipes.empty()) return out;
  out += "<details><summary>Weights and arithmetic of each recipe</summary><dl>\n";
  for (const RecipeResult& r : s.recipes) {
    out += fmt::format("<dt>{}</dt><dd>{}<br><code>{}</code></dd>\n", html_text(r.name), html_text(calls_text(r.dtype_calls)),
                       r.weights_sha256.empty() ? kDash : html_text(r.weights_sha256));
  }
  return out + "</dl></details>\n";
}

}  // namespace dyadic::inline v1::study
