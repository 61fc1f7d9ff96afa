// report.html: whole, self-contained, escaped, and sound for studies that are not.
#include "study/report_html.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "base/text.h"
#include "sample_result.h"
#include "study/charts.h"
#include "study/svg.h"

namespace dyadic::study {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}
bool has(const std::string& text, const std::string& part) { return count(text, part) > 0; }

// Every element that is opened is closed, in order; attributes are quoted. The style sheet is text.
void expect_well_formed(const std::string& html) {
  std::vector<std::string> open;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const size_t end = html.find('>', at);
    ASSERT_NE(end, std::string::npos);
    std::string tag = html.substr(at + 1, end - at - 1);
    EXPECT_EQ(std::count(tag.begin(), tag.end(), '"') % 2, 0) << tag;
    if (tag.starts_with("!")) continue;
    const std::string name = tag.substr(tag[0] == '/', tag.find_first_of(" />", 1) - (tag[0] == '/'));
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty()) << tag;
      EXPECT_EQ(open.back(), name);
      open.pop_back();
    } else if (!tag.ends_with("/") && name != "meta" && name != "br") {
      open.push_back(name);
    }
  }
  EXPECT_TRUE(open.empty());
}

void expect_sound(const std::string& html) {
  expect_well_formed(html);
  for (const char* outside : {"http:", "https:", "//", "<script", "@import", "<link", "src=", "href="})
    EXPECT_FALSE(has(html, outside)) << outside;
  // Figures that are not finite must reach neither a coordinate nor a reader.
  for (const std::string word : {"nan", "inf"}) {
    for (size_t at = html.find(word); at != std::string::npos; at = html.find(word, at + 1)) {
      EXPECT_TRUE(std::isalpha(html[at - 1]) || std::isalpha(html[at + 3])) << html.substr(at - 40, 80);
    }
  }
}

TEST(ReportHtml, HoldsEverything) {
  const StudyResult s = sample_result();
  const std::string html = report_html(s);
  expect_sound(html);
  EXPECT_TRUE(has(html, "<h1>Train with <em>pure-bf16-sr</em>: 43 % less memory"));
  EXPECT_TRUE(has(html, "Store the weights as <em>i8(row)</em>"));
  EXPECT_EQ(count(html, "<figure>"), 6u);
  EXPECT_EQ(count(html, "<svg "), 12u);  // each for a desk and for a phone
  for (const RecipeResult& r : s.recipes) EXPECT_GT(count(html, ">" + r.name + "<"), 4u) << r.name;
  for (const FormatResult& f : s.formats) EXPECT_TRUE(has(html, "<td>" + f.name + "</td>")) << f.name;
  EXPECT_TRUE(has(html, s.corpus.sha256));
  EXPECT_TRUE(has(html, "prefers-color-scheme: dark"));
  EXPECT_LT(html.size(), 300'000u);
}

TEST(ReportHtml, LongCurvesStaySmall) {
  StudyResult s = sample_result(20'000);
  EXPECT_LT(report_html(s).size(), 300'000u);
}

TEST(ReportHtml, HostileTextIsEscaped) {
  StudyResult s = sample_result(20);
  const std::string evil = "<script>alert(\"1\")</script>&'\x1b[31m\xff";
  s.corpus.source = s.command = s.machine.cpu = s.model.preset = s.recipes[1].doc = evil;
  s.corpus.files = {{evil, 3}, {evil, 4}};
  s.corpus.notes = {evil};
  s.recipes[1].name = s.recommendation.recipe = s.formats[1].name = evil;
  s.recipes[2].nan = FirstNaN{evil, evil, 3};
  s.recipes[2].rounding = {{evil, evil, evil, 1, 1}};
  const std::string html = report_html(s);
  expect_sound(html);
  EXPECT_TRUE(has(html, "&lt;script&gt;alert(&#34;1&#34;)&lt;/script&gt;&amp;&#39;\uFFFD[31m\uFFFD"));
  EXPECT_FALSE(has(html, "\x1b"));
}

// Names that are the caller's, wherever they stand: each picked, so that it is in tiles, headline, charts and tables.
TEST(ReportHtml, NamesAreText) {
  const std::string evil = "<blink>&\"'";
  StudyResult s = sample_result(20);
  s.model.preset = s.model.kind = s.measure.metric = s.measure.item = s.training = s.version = evil;
  s.machine.cpu = s.machine.os = s.machine.isa = s.machine.compiler = evil;
  s.notes = {evil};
  s.recipes[4].name = s.recipes[4].doc = s.formats[3].name = evil;
  s.recipes[3].rounding = {{evil, evil, evil, 1, 1}};
  s.recipes[2].nan = FirstNaN{evil, evil, 1};
  s.recipes[1].dtype_calls = {{evil, evil, 1}};
  for (RecipeResult& r : s.recipes)
    r.metric = r.val_loss, r.metric_vs_f32 = r.vs_f32, r.modules = {{.module = evil, .elements = 1}};
  for (FormatResult& f : s.formats) f.metric = f.val_loss, f.metric_vs_f32 = f.vs_f32;
  for (const bool mixed : {false, true}) {
    if (mixed) {
      s.layers =
          Layers{.format = evil, .keep = evil, .modules = {{.module = evil, .kept = true}}, .bytes = 1000, .value = 2.03};
      s.layers->modules[0].alone = s.layers->modules[0].spared = s.layers->vs_f32 = sample_delta(0.01, 0.001);
    }
    s.recommendation = recommend(s);
    EXPECT_EQ(s.recommendation.recipe, evil);
    const std::string html = report_html(s);
    EXPECT_FALSE(has(html, "<blink")) << html.substr(html.find("<blink") - 100, 200);
    EXPECT_TRUE(has(html, "&lt;blink&gt;&amp;&#34;&#39;"));
    expect_sound(html);
  }
}

// On a narrow page a name and a value share a line, and the last tick ends within the drawing.
TEST(ReportHtml, NarrowBarsKeepTheirTextApart) {
  StudyResult s = sample_result(20);
  s.recipes[1].name = "bfloat16-weights-with-8-bit-states-and-stochastic-rounding";
  constexpr double kWidth = 400;
  for (const std::string& svg : {speed_chart(s, kWidth), bytes_chart(s, kWidth)}) {
    const std::regex text(R"re(<text class="([^"]*)" x="([\d.]+)" y="([\d.-]+)"([^>]*)>([^<]*)<)re");
    std::map<std::string, double> names;  // by line, where the name ends
    int ticks = 0;
    for (std::sregex_iterator i(svg.begin(), svg.end(), text), end; i != end; ++i) {
      const std::smatch& m = *i;
      const double x = std::stod(m[2]), wide = kPerColumn * display_width(m[5].str());
      const bool ends = m[4].str().find("end") != std::string::npos, middle = m[4].str().find("middle") != std::string::npos;
      const double left = ends ? x - wide : middle ? x - wide / 2 : x;
      EXPECT_LE(left + wide, kWidth + 1) << m[0];
      ticks += m[1].str() == "tick";
      if (m[1].str().starts_with("name")) names[m[3]] = left + wide;
      if (m[1].str() != "value") continue;
      EXPECT_LE(names.at(m[3]), left) << m[0];
    }
    EXPECT_EQ(names.size(), s.recipes.size());
    EXPECT_EQ(ticks > 0, svg.find("Bytes by category") != std::string::npos);
  }
}

TEST(ReportHtml, FormatsThatShareAShortNameHaveTheWhole) {
  StudyResult s = sample_result(20);
  const auto names = [&](const char* label) { return has(report_html(s), ">" + std::string(label) + "</text>"); };
  EXPECT_TRUE(names("i4") && names("nf4"));
  s.formats[5].name = "i4(group=64)";
  EXPECT_TRUE(names("i4(group=64)") && names("i4(group=32)") && names("nf4"));
  EXPECT_FALSE(names("i4"));
}

TEST(ReportHtml, StudiesThatAreNotWhole) {
  expect_sound(report_html(StudyResult{}));

  StudyResult begun = sample_result(20);
  begun.complete = false;
  for (RecipeResult& r : begun.recipes) {
    const std::string name = r.name;
    r = {};
    r.name = name;
  }
  begun.formats.clear();
  begun.recommendation = recommend(begun);
  expect_sound(report_html(begun));

  StudyResult diverged = sample_result(40);
  diverged.recipes[3].vs_f32 = sample_delta(41, 3), diverged.recipes[3].val_loss = 43;
  for (CurvePoint& p : diverged.recipes[3].curve) p.train_loss *= 1e6;
  diverged.recipes[2].status = Status::stopped;
  diverged.recipes[2].nan = FirstNaN{"exp", "", 17};
  for (size_t i = 16; i < 40; ++i) diverged.recipes[2].curve[i].train_loss = NAN;
  diverged.recipes[4].vs_f32 = sample_delta(-0.02, 0.001);
  diverged.options.minimize = Minimize::time;
  diverged.options.tolerance = 0;
  diverged.recommendation = recommend(diverged);
  const std::string html = report_html(diverged);
  expect_sound(html);
  EXPECT_TRUE(has(html, "pure-bf16 (+41.0000)"));  // at the edge of the frame, with its value

  StudyResult lone = sample_result(20);
  lone.recipes.resize(1), lone.formats.resize(1);
  lone.recipes[0].curve.resize(1);
  lone.recommendation = recommend(lone);
  expect_sound(report_html(lone));
}

TEST(Svg, Ticks) {
  const Ticks t = round_ticks(1.93, 3.4, 6);
  EXPECT_EQ(t.at.size(), 3u);
  EXPECT_EQ(t.label(t.at[0]), "2.0");
  EXPECT_EQ(round_ticks(-0.01, 0.09, 6).label(-1e-17), "0.00");
  EXPECT_TRUE(round_ticks(1, 1, 5).at.empty());
  EXPECT_TRUE(round_ticks(0, NAN, 5).at.empty());
  EXPECT_EQ(byte_ticks(24e6, 5).at[1], 5 * 1024 * 1024);
  EXPECT_EQ(bytes_tick(5 * 1024 * 1024), "5 MiB");
  EXPECT_EQ(bytes_tick(byte_ticks(1.9 * 1024 * 1024, 5).at[3]), "1500 KiB");
  EXPECT_EQ(bytes_tick(byte_ticks(1.1 * 1024 * 1024, 5).at[2]), "1000 KiB");
  EXPECT_EQ(bytes_tick(0), "0");
}

TEST(Svg, SpreadKeepsDistanceAndOrder) {
  const auto check = [](const std::vector<double>& wanted, double gap, double lo, double hi) {
    std::vector<double> at = spread(wanted, gap, lo, hi);
    ASSERT_EQ(at.size(), wanted.size());
    for (size_t i = 0; i < at.size(); ++i) {
      EXPECT_GE(at[i], lo - 1e-6);
      EXPECT_LE(at[i], hi + 1e-6);
      for (size_t k = 0; k < at.size(); ++k) {
        if (wanted[i] < wanted[k]) { EXPECT_LT(at[i], at[k]); }
      }
    }
    std::sort(at.begin(), at.end());
    for (size_t i = 1; i < at.size(); ++i) EXPECT_GE(at[i] - at[i - 1], gap - 1e-6);
  };
  check({50, 51, 52, 90, 10}, 15, 0, 100);
  check({98, 99, 100, 100}, 15, 0, 100);
  check({0, 0, 0}, 10, 0, 100);
  check({40, 60, 41, 61, 50}, 10, 0, 100);
  EXPECT_EQ(spread({20, 70}, 15, 0, 100), (std::vector<double>{20, 70}));
  EXPECT_EQ(spread({}, 15, 0, 100), std::vector<double>{});
  EXPECT_EQ(spread({5, 5, 5}, 100, 0, 10), (std::vector<double>{0, 5, 10}));  // no room: as even as it goes
}

}  // namespace
}  // namespace dyadic::study
