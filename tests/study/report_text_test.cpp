// The terminal report: widths, what it says, and figures as people read them.
#include "study/report_text.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "sample_result.h"
#include "study/numbers.h"
#include "study/text_table.h"
#include "study/words.h"

namespace dyadic::study {
namespace {

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(ReportText, FitsItsWidth) {
  for (int width : {80, 100, 140}) {
    const std::string text = report_text(sample_result(20), {width, false});
    size_t begin = 0;
    while (begin < text.size()) {
      const size_t end = text.find('\n', begin);
      EXPECT_LE(display_width(text.substr(begin, end - begin)), width) << text.substr(begin, end - begin);
      begin = end + 1;
    }
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_TRUE(says(text, "  \u25b8 pure-bf16-sr"));
    EXPECT_TRUE(says(text, "+0.0148 \u00b1 0.0012"));
    EXPECT_EQ(says(text, "tokens/s"), width >= 100);
    // The answer stands last.
    EXPECT_GT(text.find("\nRecommendation\n"), text.find("q4_0"));
  }
  EXPECT_TRUE(says(report_text(sample_result(20), {140, true}), "\x1b["));
}

TEST(ReportText, TroublesAndUnknowns) {
  StudyResult s = sample_result(20);
  s.recipes[2].status = Status::stopped, s.recipes[2].nan = FirstNaN{"exp", "blocks.1.mlp", 17},
  s.recipes[2].val_loss = kUnknown;
  s.recipes[2].vs_f32 = {};
  s.recipes[3] = RecipeResult{};
  s.recipes[3].name = "pure-bf16";
  s.complete = false;
  s.formats.clear();
  s.corpus.notes = {"x\x1b[31m was left out"};
  const std::string text = report_text(s, {120, false});
  EXPECT_TRUE(says(
      text, "f16 stopped at step 17: the loss was not finite; the first op to produce such a value was exp in blocks.1.mlp."));
  EXPECT_TRUE(says(text, "f16 (stopped)"));
  EXPECT_TRUE(says(text, "interrupted"));
  EXPECT_FALSE(says(text, "nan"));
  EXPECT_FALSE(says(text, "\x1b"));
  EXPECT_FALSE(says(text, "Weights stored in fewer bits"));
  EXPECT_FALSE(says(report_text(StudyResult{}), "nan"));
}

TEST(ReportText, WhatThereIsNoRoomForIsCounted) {
  StudyResult s = sample_result(20);
  for (RecipeResult& r : s.recipes)
    for (int i = 0; i < 15; ++i)
      r.modules.push_back({.module = "block" + std::to_string(i), .elements = 4, .squared = 1, .squared_difference = 1e-6});
  const auto table = [&](int width) {
    const std::string text = report_text(s, {width, false});
    const size_t begin = text.find("Which modules round");
    return text.substr(begin, text.find("\nRecommendation") - begin);
  };
  const std::string narrow = table(60), wide = table(140);
  EXPECT_TRUE(says(narrow, "    module           \u25b8 pure-bf16-sr")) << narrow;  // the recommended one first
  EXPECT_TRUE(says(narrow, "and 4 more modules and ")) << narrow;                   // 16 with the whole
  EXPECT_TRUE(says(narrow, " more recipes, in report.html")) << narrow;
  EXPECT_TRUE(says(wide, "    and 4 more modules, in report.html")) << wide;
  for (RecipeResult& r : s.recipes) r.modules.resize(2);
  EXPECT_FALSE(says(table(140), " more ")) << table(140);
}

TEST(ReportText, TellsTheStudysOwnTime) {
  StudyResult s = sample_result(20);
  EXPECT_FALSE(says(report_text(s), "own time"));
  s.recipes[0].sampling = 0.021, s.recipes[3].sampling = 0.034;
  EXPECT_TRUE(says(report_text(s), "The study's own time is at most 3.40 % of that of training (" + s.recipes[3].name + ")."))
      << report_text(s);
}

TEST(Words, ANameAsPartOfAFolder) {
  for (auto [name, folder] :
       {std::pair{"char", "char"}, {"Net 2.1", "Net 2.1"}, {"../../evil", "------evil"}, {"..", "--"}, {"a/b\\c\n", "a-b-c-"}})
    EXPECT_EQ(file_name(name), folder);
}

TEST(Numbers, Bytes) {
  EXPECT_EQ(bytes_text(Count(0)), "0 B");
  EXPECT_EQ(bytes_text(Count(812)), "812 B");
  EXPECT_EQ(bytes_text(Count(1023)), "0.999 KiB");
  EXPECT_EQ(bytes_text(Count(15 * 1024 * 1024)), "15.0 MiB");
  EXPECT_EQ(bytes_text(Count()), "\u2013");
}

TEST(Numbers, RatesCountsAndTimes) {
  EXPECT_EQ(quantity_text(131'072), "131 k");
  EXPECT_EQ(quantity_text(999.6), "1.00 k");
  EXPECT_EQ(quantity_text(5.41e11), "541 G");
  EXPECT_EQ(quantity_text(kUnknown), "\u2013");
  EXPECT_EQ(count_text(Count(1234567)), "1,234,567");
  EXPECT_EQ(count_text(Count(999)), "999");
  EXPECT_EQ(count_text(Count(-1000)), "\u22121,000");
  EXPECT_EQ(count_text(Count(INT64_MIN)), "\u22129,223,372,036,854,775,808");
  EXPECT_EQ(milliseconds_text(0.842), "0.842");
  EXPECT_EQ(milliseconds_text(12.34), "12.3");
  EXPECT_EQ(elapsed_text(161.4), "2 min 41 s");
}

TEST(Numbers, NothingIsRoundedToAFalseZeroOrAFalseWhole) {
  EXPECT_EQ(percent_text(0), "0 %");
  EXPECT_EQ(percent_text(1e-6), "< 0.01 %");
  EXPECT_EQ(percent_text(0.99999), "> 99.99 %");
  EXPECT_EQ(percent_text(0.9971), "99.71 %");
  EXPECT_EQ(percent_text(1), "100 %");
  EXPECT_EQ(percent_text(0.4127), "41.3 %");
  EXPECT_EQ(percent_text(-0.0025), "\u22120.25 %");
  EXPECT_EQ(error_text(1e-7), "<0.0001");
  EXPECT_EQ(error_text(0), "0");
  EXPECT_EQ(delta_text(-0.0123), "\u22120.0123");
  EXPECT_EQ(delta_text(0), "0");
  EXPECT_EQ(small_text(2.1e-5), "2.1e-05");
  EXPECT_EQ(tolerance_text(0.01), "1 %");
  EXPECT_EQ(tolerance_text(0.0025), "0.25 %");
  EXPECT_EQ(ratio_text(1.733), "1.73x");
  EXPECT_EQ(ratio_text(3.72), "3.7x");
}

TEST(TextTable, LosesTheLeastImportantColumnFirst) {
  TextTable t;
  t.columns = {{"name", true, 0}, {"b", false, 2}, {"c", false, 1}};
  t.rows = {{"x", "1", "22"}, {"\u0394\u0394", "333", "4"}};
  EXPECT_EQ(t.text(40, false), "  name    b   c\n  x       1  22\n  \u0394\u0394    333   4\n");
  EXPECT_EQ(t.text(14, false), "  name   c\n  x     22\n  \u0394\u0394     4\n");
  EXPECT_EQ(t.text(3, false), "  name\n  x\n  \u0394\u0394\n");
}

TEST(TextTable, ShortensTheMiddleOfNames) {
  TextTable t;
  t.columns = {{"name", true, 0}, {"b", false, 0}};
  t.rows = {{"pure-bf16-f8e4m3fn-sr-states-dynamic8(block=256)", "1"}};
  EXPECT_EQ(t.text(60, false),
            "  name                                              b\n  pure-bf16-f8e4m3fn-sr-states-dynamic8(block=256)  1\n");
  EXPECT_EQ(t.text(31, false),
            "  name                        b\n  pure-bf16-f8e4m\u2026"
            "block=256)  1\n");
  EXPECT_EQ(short_name("seven77", 7), "seven77");
  EXPECT_EQ(short_name("eight888", 7), "eig\u2026888");
  for (int most = 3; most < 12; ++most)
    EXPECT_LE(display_width(short_name("\u03b1\u03b2\u6f22\u5b57\u03b3\u03b4\u6f22\u5b57e", most)), most);
}

TEST(TextTable, Wraps) {
  EXPECT_EQ(wrap_text("one two three", 9, "> "), "> one two\n> three\n");
  EXPECT_EQ(wrap_text("a\nb", 9, ""), "a\nb\n");
  EXPECT_EQ(wrap_text("unbreakable", 4, ""), "unbreakable\n");
  EXPECT_EQ(wrap_text("", 4, ""), "");
}

}  // namespace
}  // namespace dyadic::study
