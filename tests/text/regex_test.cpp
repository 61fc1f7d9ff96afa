// Regular expressions: against what Oniguruma makes of classes of characters and of look-behind, and their bounds.
#include "text/regex.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "dyadic/error.h"
#include "tests/test_data.h"
#include "text/split_matchers.h"
#include "text/stages.h"
#include "text/unicode.h"

namespace dyadic {
namespace {

using nlohmann::json;

json stored_regex() { return json::parse(std::ifstream(test_data("text/data/regex.json"))); }

TEST(regex, classes_hold_what_Onigurumas_hold) {
  const json stored = stored_regex();
  for (const auto& [pattern, expected] : stored["classes"].items()) {
    const text::Regex regex(pattern);
    uint64_t n = 0, hash = 0xcbf29ce484222325;
    for (char32_t c = 0; c < 0x110000; ++c) {
      if (c - 0xd800 < 0x800) continue;
      std::string s;
      text::append_utf8(s, c);
      if (regex.match(s, 0) != s.size()) continue;
      ++n;
      for (int shift : {0, 8, 16}) hash = (hash ^ (c >> shift & 255)) * 0x100000001b3;
    }
    EXPECT_EQ(n, expected[0]) << pattern;
    EXPECT_EQ(fmt::format("{:016x}", hash), expected[1]) << pattern;
  }
}

TEST(regex, cut_as_Onigurumas_do) {
  const json stored = stored_regex();
  const std::string s = stored["text"];
  for (const auto& [pattern, expected] : stored["patterns"].items()) {
    const auto stage = text::make_pre_tokenizer(
        {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}});
    text::Pieces pieces;
    pieces.list = {{s, true}};
    stage->apply(pieces);
    json lengths = json::array();
    for (const text::Piece& p : pieces.list) lengths.push_back(text::utf8_length(p.text));
    EXPECT_EQ(lengths, expected) << pattern;
  }
}

TEST(regex, matches_and_bounds) {
  const auto find = [](const char* pattern, std::string_view s) {
    auto m = text::Regex(pattern).find(s, 0);
    return m ? std::string(s.substr(m->begin, m->end - m->begin)) : "nothing";
  };
  EXPECT_EQ(find("a+?b", "xaab"), "aab");
  EXPECT_EQ(find("a++a", "aaa"), "nothing");
  EXPECT_EQ(find("(?>a|ab)c", "abc"), "nothing");
  EXPECT_EQ(find("(?:a|ab)(?:c|bcd)$", "abcd"), "abcd");
  EXPECT_EQ(find("[^a-c\\s]{2,3}", "ab defg"), "def");
  EXPECT_EQ(find("(?i:STRASSE)", "strasse"), "strasse");
  EXPECT_EQ(find("\\p{Han}+", "x\xe4\xb8\xad\xe6\x96\x87y"), "\xe4\xb8\xad\xe6\x96\x87");
  EXPECT_EQ(find("(?:)*x", "x"), "x");
  EXPECT_EQ(find("\\bfoo\\b", "afoo foo"), "foo");
  EXPECT_THROW(find("(?:a+)+b", std::string(3000, 'a')), Error);  // bounded, not endless
  EXPECT_THROW(text::Regex("[[:foo:]]"), ValueError);
  EXPECT_THROW(text::Regex("(?<=a"), ValueError);
  EXPECT_THROW(text::Regex("(?<a"), ValueError);
  EXPECT_THROW(find("(?<!(?<=(?:a|aa)+)b)c", std::string(3000, 'a') + "bc"), Error);
  EXPECT_THROW(text::Regex("a{1,9999}"), ValueError);
  EXPECT_THROW(text::Regex(std::string(1000, '(')), ValueError);
}

// The hand-written matchers against the expression itself.
TEST(regex, known_matchers_are_their_patterns) {
  const std::string cl100k =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const char32_t kSome[] = {' ',  ' ',   '\n',  '\r',   '\t', '\'',    's',
                            'L',  'l',   'e',   '1',    '2',  '.',     '!',
                            0xa0, 0x17f, 0x301, 0x4e2d, 0xbd, 0x1f600, text::kBadByte + 0xff};
  uint32_t state = 1;
  for (const std::string& pattern : {cl100k, std::string(text::kGpt2Pattern)}) {
    const text::Match known = text::known_matcher(pattern);
    ASSERT_TRUE(known);
    const text::Regex regex(pattern);
    for (int round = 0; round < 5000; ++round) {
      std::string s;
      for (int i = 0; i < 12; ++i)
        text::append_utf8(s, kSome[((state = state * 1664525 + 1013904223) >> 16) % std::size(kSome)]);
      for (size_t at = 0; at < s.size();) {
        const auto want = regex.match(s, at);
        ASSERT_TRUE(want);
        ASSERT_EQ(known(s, at), *want) << s << " at " << at;
        at = *want;
      }
    }
  }
}

}  // namespace
}  // namespace dyadic
