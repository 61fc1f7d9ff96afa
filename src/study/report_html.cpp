// report.html: the answer, the drawings, and what the answer rests on. The tables are report_tables.cpp.
#include "study/report_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/charts.h"
#include "study/measure.h"
#include "study/numbers.h"
#include "study/recommend.h"
#include "study/report_style.h"
#include "study/report_tables.h"
#include "study/svg.h"

namespace dyadic::inline v1::study {

namespace {
using Chart = std::string (*)(const StudyResult&, double);

struct Page {
  const StudyResult& s;
  std::string out;

  template <class... A> void put(fmt::format_string<A...> text, A&&... a) { out += fmt::format(text, std::forward<A>(a)...); }
  // The drawing for a desk and for a phone; the style sheet shows one of them.
  void figure(Chart chart, double wide_width) {
    const std::string wide = chart(s, wide_width);
    if (wide.empty()) return;
    out += "<figure>\n<div class=\"wide\">" + wide + "</div>\n<div class=\"narrow\">" + chart(s, 360) + "</div>\n</figure>\n";
  }
  void heading(std::string_view title, std::string_view lead) {
    put("<h2>{}</h2>\n", html_text(title));
    if (!lead.empty()) put("<p class=\"lead\">{}</p>\n", html_text(lead));
  }

  std::string steps_words() const { return s.recipes.empty() ? "" : ", " + count_text(s.options.steps) + " steps"; }
  void head();
  void answer();
  void tiles();
  void tile(std::string_view label, const std::string& value, const std::string& aside, double share);
  void notices();
  void trade_offs();
  void layers();
  void modules();
  void curves();
  void memory();
  void speed();
  void tables();
  void conditions();
};

void Page::head() {
  put("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<meta name=\"generator\" content=\"dyadic {}\">\n<title>Precision study: {}{}"
      "</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n",
      html_text(s.version), html_text(s.model.preset), steps_words(), kReportStyle);
}

// The name stands out where the sentence first uses it.
std::string emphasize(std::string html, const std::string& name) {
  const std::string escaped = html_text(name);
  if (escaped.empty()) return html;
  for (const char* before : {"Train with ", "Train in ", "weights as ", "weights in "}) {
    const size_t at = html.find(before + escaped);
    if (at != std::string::npos)
      return html.insert(at + std::string_view(before).size() + escaped.size(), "</em>")
          .insert(at + std::string_view(before).size(), "<em>");
  }
  return html;
}

void Page::answer() {
  const ModelInfo& m = s.model;
  put("<header>\n<p class=\"over\"><b>Precision study</b> of {} ({} parameters){} on {}</p>\n", html_text(m.preset),
      count_text(m.parameters), steps_words(), html_text(s.machine.cpu));
  put("<h1>{}</h1>\n</header>\n",
      emphasize(emphasize(html_text(headline(s)), s.recommendation.recipe), s.recommendation.format));
}

void Page::tile(std::string_view label, const std::string& value, const std::string& aside, double share) {
  put("<div class=\"tile\"><div class=\"label\">{}</div><div class=\"value\">{}</div>", html_text(label), value);
  put("<div class=\"meter\">");
  if (std::isfinite(share)) put("<i style=\"width:{:.1f}%\"></i>", std::clamp(share, 0.0, 1.0) * 100);
  put("</div><div class=\"aside\">{}</div></div>\n", html_text(aside));
}

std::string value_and_unit(const std::string& text) {
  const size_t space = text.find(' ');
  return space == std::string::npos
             ? html_text(text)
             : fmt::format("{} <small>{}</small>", html_text(text.substr(0, space)), html_text(text.substr(space + 1)));
}

void Page::tiles() {
  const RecipeResult *f32 = s.recipe("f32"), *r = s.recipe(s.recommendation.recipe);
  const FormatResult *plain = s.format("f32"), *f = s.format(s.recommendation.uniform);
  if (!f32 || !r) return;
  put("<div class=\"tiles\">\n");
  if (r->bytes.peak.measured && f32->bytes.peak.measured) {
    tile("Memory of training", value_and_unit(bytes_text(r->bytes.peak.measured)),
         fmt::format("f32: {}", bytes_text(f32->bytes.peak.measured)),
         double(*r->bytes.peak.measured) / double(*f32->bytes.peak.measured));
  }
  if (r->step_ms > 0 && f32->step_ms > 0) {
    tile("Time of a step", value_and_unit(milliseconds_text(r->step_ms) + " ms"),
         fmt::format("f32: {} ms", milliseconds_text(f32->step_ms)), r->step_ms / f32->step_ms);
  }
  if (const LossDelta& d = judged(s, *r); std::isfinite(d.delta)) {
    tile("The recipe's " + judged_name(s), value_and_unit(loss_text(judged_value(s, *r)) + unit_text(s)),
         r == f32 ? "the reference"
                  : fmt::format("{} \u00b1 {} to f32; {} ({}) is allowed", change_text(s, d.delta), error_text(d.se),
                                loss_text(allowed(s)), tolerance_text(s.options.tolerance)),
         r == f32 ? 0 : d.delta / allowed(s));
  }
  if (f && plain && f->bytes && plain->bytes) {
    const bool mixed = s.layers && s.layers->bytes;
    const Count bytes = mixed ? s.layers->bytes : f->bytes;
    const LossDelta& d = mixed ? s.layers->vs_f32 : judged(s, *f);
    tile("Weights stored", value_and_unit(bytes_text(bytes)),
         f == plain && !mixed ? "in f32"
                              : fmt::format("f32: {}; {} {} \u00b1 {}", bytes_text(plain->bytes), judged_name(s),
                                            change_text(s, d.delta), error_text(d.se)),
         double(*bytes) / double(*plain->bytes));
  }
  put("</div>\n");
}

// Options keep to one line: a browser would break "--seeds" behind its dashes.
std::string with_options(std::string html) {
  for (size_t at = html.find("--"); at != std::string::npos; at = html.find("--", at)) {
    const size_t end = std::min(html.find_first_not_of("-abcdefghijklmnopqrstuvwxyz", at), html.size());
    const std::string code = "<code>" + html.substr(at, end - at) + "</code>";
    html.replace(at, end - at, code);
    at += code.size();
  }
  return html;
}

void Page::notices() {
  if (!s.complete)
    put("<p class=\"notice\">The study was interrupted. This is the report of what was done by then; --resume goes on from "
        "there.</p>\n");
  for (const RecipeResult& r : s.recipes) {
    if (r.nan) {
      put("<p class=\"notice\">{} stopped at step {}: the loss was not finite. The first op to produce such a value was "
          "<b>{}</b> in <b>{}</b>.</p>\n",
          html_text(r.name), count_text(r.nan->step), html_text(r.nan->op),
          html_text(r.nan->module.empty() ? "the model" : r.nan->module));
    }
    if (!r.error.empty()) put("<p class=\"notice\">{} failed {}</p>\n", html_text(r.name), html_text(r.error));
  }
  put("<div class=\"why\">\n");
  std::string_view why = s.recommendation.why;
  while (!why.empty()) {
    const std::string_view line = why.substr(0, why.find('\n'));
    why.remove_prefix(std::min(line.size() + 1, why.size()));
    put("<p>{}</p>\n", with_options(html_text(line)));
  }
  put("</div>\n");
}

void Page::trade_offs() {
  const bool any = !recipes_chart(s, 480).empty() || !formats_chart(s, 480).empty();
  if (!any) return;
  put("<section class=\"pair\">\n<div>\n");
  const std::string name = s.measure.metric.empty() ? "Loss" : "Lost " + s.measure.metric;
  if (!s.recipes.empty()) {
    heading("What each recipe loses",
            name + (s.options.minimize == Minimize::time ? " against the time of a step. Down and left is better."
                                                         : " against the memory of training. Down and left is better."));
    figure(recipes_chart, 478);
    put("</div>\n<div>\n");
  }
  if (!s.formats.empty())
    heading("What each format loses",
            s.recipes.empty() ? "The weights stored in fewer bits." : "The weights that f32 trained, stored in fewer bits.");
  figure(formats_chart, 478);
  put("</div>\n</section>\n<p class=\"lead after\">Filled marks are, with 95 % confidence, within the tolerance (the shaded "
      "band); "
      "hollow ones are not. "
      "Bars show 95 % intervals where they are larger than the mark; a triangle at the upper edge lies beyond it. Where marks "
      "are many, those that no other beats in both "
      "directions are named, the rest under the pointer.</p>\n");
}

void Page::layers() {
  if (!s.layers || s.layers->modules.empty()) return;
  put("<section>\n");
  heading(
      fmt::format("Where {} loses", s.layers->format),
      "Each module's weights stored alone, all others in f32: what is lost, the worst first. Bars show 95 % intervals. Hollow "
      "marks: all but this module stored, and what that spares." +
          std::string(s.layers->bytes ? " Green: kept in more bits by the recommendation." : ""));
  figure(layers_chart, 1000);
  put("</section>\n");
}

void Page::modules() {
  const std::string table = modules_table(s);
  if (table.empty()) return;
  put("<section>\n");
  heading("Which modules round",
          "Results of the sampled steps, forward and backward, beside wider ones: the relative error of each module, what is "
          "inside of it included, the worst first. Darker is worse by powers of ten. Beneath: values that overflowed or became "
          "zero, and updates of weights that rounded to nothing.");
  out += table;
  put("</section>\n");
}

void Page::curves() {
  if (s.recipes.empty()) return;
  put("<section>\n");
  heading("Training", "Validation loss (points) over the smoothed loss of the training batches (faint).");
  figure(curves_chart, 1000);
  put("</section>\n");
  if (gap_chart(s, 1000).empty()) return;
  put("<section>\n");
  heading("The same, as a difference from f32",
          "Every recipe begins from the same weights and sees the same batches, so what differs is rounding.");
  figure(gap_chart, 1000);
  put("</section>\n");
}

void Page::memory() {
  const std::vector<MemoryCategory> categories = memory_categories(s);
  if (categories.empty()) return;
  put("<section>\n");
  heading("Where the bytes go",
          "Each category's own peak. They peak at different moments, so the whole (the dark tick) can be less than their sum.");
  put("<ul class=\"legend\">\n");
  for (size_t k = 0; k < categories.size(); ++k) put("<li><i class=\"m{}\"></i>{}</li>\n", k, html_text(categories[k].name));
  put("<li><i class=\"m0 half\"></i>pale: predicted before the run</li><li><i class=\"tick\"></i>peak of the "
      "whole</li>\n</ul>\n");
  figure(bytes_chart, 1000);
  put("</section>\n");
}

void Page::speed() {
  if (speed_chart(s, 1000).empty()) return;
  put("<section>\n");
  heading("Speed of training", "Against the peak that this machine reached in a probe of matrix products in the same dtype.");
  figure(speed_chart, 1000);
  put("</section>\n");
}

void Page::tables() {
  put("<section>\n");
  heading("All figures", "");
  out += recipes_table(s) + formats_table(s) + layers_table(s) + rounding_table(s);
  put("</section>\n");
}

void Page::conditions() {
  put("<section>\n");
  heading("How it was measured", "");
  out += conditions_list(s);
  put("</section>\n<footer>\n");
  if (is_text(s))
    put("<p>The standard error of a difference is that of paired per-token differences on the whole validation text; windows "
        "of text count as clusters, since their tokens are correlated, and with several seeds the spread over seeds is "
        "measured too. The largest of these is shown. "
        "\u201cWithin the tolerance\u201d means that the one-sided 95 % bound of the difference is.</p>\n");
  else
    put("<p>The standard error of a difference is that of paired differences, sample by sample, on all samples of the "
        "evaluation, and with several seeds the spread over seeds is measured too. The largest is shown. "
        "\u201cWithin the tolerance\u201d means that the one-sided 95 % bound of the difference is.</p>\n");
  put("<p>The same figures, and more, stand in report.json beside this file. Made by dyadic "
      "{}.</p>\n</footer>\n</main>\n</body>\n</html>\n",
      html_text(s.version));
}
}  // namespace

std::string report_html(const StudyResult& result) {
  Page page{result, {}};
  page.head();
  page.answer();
  page.tiles();
  page.notices();
  page.trade_offs();
  page.layers();
  page.modules();
  page.curves();
  page.memory();
  page.speed();
  page.tables();
  page.conditions();
  return std::move(page.out);
}

}  // namespace dyadic::inline v1::study
