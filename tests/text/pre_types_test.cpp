// The pre-tokenizers that GGUF files name cut text as Hugging Face's tokenizers does by the models' own patterns.
#include "text/pre_types.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/test_data.h"
#include "text/gguf_vocabulary.h"
#include "text/stages.h"
#include "text/unicode.h"

namespace dyadic {
namespace {

using nlohmann::json;

std::vector<size_t> lengths_of_pieces(const text::PreTokenizer& stage, std::string_view s) {
  text::Pieces pieces;
  pieces.list = {{s, true}};
  stage.apply(pieces);
  std::vector<size_t> lengths;
  for (const text::Piece& p : pieces.list) {
    lengths.push_back(0);
    for (size_t i = 0; i < p.text.size(); i += text::decode_utf8(p.text, i).size) ++lengths.back();
  }
  return lengths;
}

TEST(pre_types, cut_as_the_models_patterns_do) {
  const json data = json::parse(std::ifstream(test_data("text/data/pre_types.json")));
  std::set<const text::PreType*> met;
  for (const auto& [name, expected] : data["pieces"].items()) {
    const text::PreType& type = text::pre_type(name);
    met.insert(&type);
    json stages = text::byte_or_character_pieces(type);
    if (!type.characters) stages["pretokenizers"].erase(stages["pretokenizers"].size() - 1);  // what makes bytes of characters
    const auto stage = text::make_pre_tokenizer(stages);
    for (size_t i = 0; i < expected.size(); ++i) {
      const std::string s = data["texts"][i];
      const json got = s.empty() ? json::array() : json(lengths_of_pieces(*stage, s));
      EXPECT_EQ(got, expected[i]) << name << ": " << s;
    }
  }
  for (const text::PreType& t : text::pre_types())  // sarvam-moe's pattern is gemma4's
    EXPECT_TRUE(met.contains(&t) || t.names == " sarvam-moe ") << t.names;
}

// A name stands for one way to cut, and the way that is written names the first that cuts so.
TEST(pre_types, names_are_told_apart) {
  std::set<std::string> names;
  for (const text::PreType& t : text::pre_types()) {
    ASSERT_TRUE(t.names.starts_with(' ') && t.names.ends_with(' '));
    for (size_t at = 1; at < t.names.size(); at = t.names.find(' ', at) + 1)
      EXPECT_TRUE(names.insert(std::string(t.names.substr(at, t.names.find(' ', at) - at))).second) << t.names;
  }
  EXPECT_GE(names.size(), 70u);
}

}  // namespace
}  // namespace dyadic
