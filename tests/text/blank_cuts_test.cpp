// Texts that are cut at blanks and line ends before they become tokens, against plain loops over all of the text.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/check.h"
#include "dyadic/tokenizer.h"

namespace dyadic {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int64_t>;
const std::vector<std::string> kCharacters = {"a", "b", "\u2581", "\n", "c"};

std::string random_text(std::mt19937& draw, const std::vector<std::string>& characters, size_t most) {
  std::string s;
  for (size_t n = draw() % (most + 1); n-- > 0;) s += characters[draw() % characters.size()];
  return s;
}

// The pair that was learned first is merged, of equals the leftmost, until none is left.
struct PlainBpe {
  std::map<std::string, int64_t> ids;
  std::vector<std::pair<std::string, std::string>> merges;
  Ids encode(const std::vector<std::string>& symbols_of_text) const {
    std::vector<std::string> s = symbols_of_text;
    for (bool merged = true; merged;) {
      merged = false;
      for (const auto& [a, b] : merges) {
        for (size_t i = 0; i + 1 < s.size() && !merged; ++i)
          if (s[i] == a && s[i + 1] == b) s[i] += b, s.erase(s.begin() + std::ptrdiff_t(i) + 1), merged = true;
        if (merged) break;
      }
    }
    Ids out;
    for (const std::string& t : s) out.push_back(ids.at(t));
    return out;
  }
};

enum class Unknown { dropped, token, bytes };

TEST(BlankCuts, AListOfMergesMakesTheSameTokens) {
  std::mt19937 draw(7);
  int64_t crossing = 0;
  for (int round = 0; round < 400; ++round) {
    const auto unknown = Unknown(round % 3);
    PlainBpe plain;
    Json vocabulary = Json::object(), merges = Json::array();
    const auto add = [&](const std::string& t) {
      if (plain.ids.emplace(t, int64_t(plain.ids.size())).second) vocabulary[t] = plain.ids[t];
    };
    for (const std::string& c : kCharacters) add(c);
    std::vector<std::string> tokens = kCharacters;
    add("<unk>");
    if (unknown == Unknown::bytes)
      for (int b = 0; b < 256; ++b) add(fmt::format("<0x{:02X}>", b));
    for (int i = 0; i < 12; ++i) {
      const std::string a = tokens[draw() % tokens.size()], b = tokens[draw() % tokens.size()];
      if (plain.ids.contains(a + b) || (a + b).size() > 12) continue;
      add(a + b), tokens.push_back(a + b), plain.merges.emplace_back(a, b), merges.push_back({a, b});
      crossing += !a.ends_with("\u2581") && b.starts_with("\u2581");
    }
    Json model = {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}, {"byte_fallback", unknown == Unknown::bytes}};
    if (unknown == Unknown::token) model["unk_token"] = "<unk>";
    const Tokenizer t = Tokenizer::from_json(Json{{"model", model}}.dump());
    std::vector<std::string> characters = kCharacters;
    characters.push_back("\u00fc");  // in no vocabulary
    for (int k = 0; k < 20; ++k) {
      std::vector<std::string> symbols;
      std::string text;
      for (size_t n = draw() % 90; n-- > 0;) {
        const std::string& c = characters[draw() % characters.size()];
        text += c;
        if (c != characters.back())
          symbols.push_back(c);
        else if (unknown == Unknown::token)
          symbols.push_back("<unk>");
        else if (unknown == Unknown::bytes)
          symbols.push_back("<0xC3>"), symbols.push_back("<0xBC>");
      }
      ASSERT_EQ(t.encode(text), plain.encode(symbols)) << text << " " << model.dump();
    }
  }
  EXPECT_GT(crossing, 50);
}

TEST(BlankCuts, ScoresMakeTheSameTokens) {
  std::mt19937 draw(11);
  for (int round = 0; round < 300; ++round) {
    StoredVocabulary v;
    v.model = "llama", v.tokens = {"<unk>"}, v.unknown = 0, v.add_bos = false, v.add_space_prefix = false;
    for (const std::string& c : kCharacters) v.tokens.push_back(c);
    for (int i = 0; i < 14; ++i) {
      const std::string t = random_text(draw, kCharacters, 4);
      if (!t.empty() && std::ranges::find(v.tokens, t) == v.tokens.end()) v.tokens.push_back(t);
    }
    for (size_t i = 0; i < v.tokens.size(); ++i) v.scores.push_back(-float((i * 7) % 19));
    const Tokenizer t = Tokenizer::from_vocabulary(v);
    for (int k = 0; k < 20; ++k) {
      std::vector<std::string> s;
      std::string text;
      for (size_t n = draw() % 60; n-- > 0;) s.push_back(kCharacters[draw() % kCharacters.size()]), text += s.back();
      const auto id_of = [&](const std::string& token) { return std::ranges::find(v.tokens, token) - v.tokens.begin(); };
      for (;;) {
        std::ptrdiff_t best = -1;
        float score = 0;
        for (size_t i = 0; i + 1 < s.size(); ++i)
          if (const auto id = id_of(s[i] + s[i + 1]);
              size_t(id) < v.tokens.size() && (best < 0 || v.scores[size_t(id)] > score))
            best = std::ptrdiff_t(i), score = v.scores[size_t(id)];
        if (best < 0) break;
        s[size_t(best)] += s[size_t(best) + 1];
        s.erase(s.begin() + best + 1);
      }
      Ids want;
      for (const std::string& token : s) want.push_back(id_of(token));
      std::string spaced = text;  // a blank in the text is the sign
      for (size_t i = 0; (i = spaced.find("\u2581", i)) != spaced.npos;) spaced.replace(i, 3, " ");
      ASSERT_EQ(t.encode(spaced), want) << text;
    }
  }
}

// A megabyte without a blank is one word.
TEST(BlankCuts, ALongWordIsNoQuadraticOne) {
  const Json model = {{"type", "BPE"},
                      {"vocab", {{"a", 0}, {"b", 1}, {"ab", 2}, {"abab", 3}, {"\u2581", 4}}},
                      {"merges", Json::array({Json::array({"a", "b"}), Json::array({"ab", "ab"})})},
                      {"unk_token", "a"}};
  const Tokenizer t = Tokenizer::from_json(Json{{"model", model}}.dump());
  std::string text;
  for (int i = 0; i < 250'000; ++i) text += "abab";
  const Ids ids = t.encode(text);
  EXPECT_EQ(ids, Ids(250'000, 3));
}

}  // namespace
}  // namespace dyadic
