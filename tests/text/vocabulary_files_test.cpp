// A GGUF file's vocabulary as tokenizer.json: the tokenizer that this makes gives the ids and the text that the vocabulary's
// own gives, of whatever text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "dyadic/error.h"
#include "dyadic/tokenizer.h"
#include "tests/test_data.h"
#include "text/gguf_vocabulary.h"
#include "text/unicode.h"

namespace dyadic {
namespace {

using nlohmann::json;

std::string stored(const std::string& name) {
  std::ifstream f(test_data("text/data/" + name + ".json"), std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}
const std::string kVocabularyConfig = R"({"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"})";

// The tokens and merges of a tokenizer.json as they are.
StoredVocabulary vocabulary_of(const json& j, const std::string& model, const std::string& pre) {
  StoredVocabulary v;
  v.model = model, v.pre = pre;
  std::map<size_t, std::string> tokens;
  for (const auto& [token, id] : j["model"]["vocab"].items()) tokens[id.get<size_t>()] = token;
  for (const auto& t : j["added_tokens"]) tokens[t["id"].get<size_t>()] = t["content"];
  for (const auto& [id, token] : tokens) v.tokens.push_back(token);
  v.types.assign(v.tokens.size(), text::kNormal);
  for (const auto& t : j["added_tokens"]) v.types.at(t["id"]) = t["special"] ? text::kControl : text::kUserDefined;
  if (j["model"].contains("merges"))
    for (const auto& m : j["model"]["merges"]) v.merges.push_back(m[0].get<std::string>() + " " + m[1].get<std::string>());
  return v;
}
std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) bytes += char(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}
StoredVocabulary sentencepiece(const char* kind) {
  const json d = json::parse(stored("sentencepiece"))[kind];
  StoredVocabulary v;
  v.model = std::string(kind) == "spm" ? "llama" : "t5";
  v.tokens = d["tokens"].get<std::vector<std::string>>();
  v.scores = d["scores"].get<std::vector<float>>();
  v.types = d["types"].get<std::vector<int32_t>>();
  v.unknown = 0, v.bos = 1, v.eos = 2;
  v.precompiled_charsmap = from_hex(d.value("charsmap", ""));
  v.remove_extra_whitespaces = d.value("remove_extra", false);
  return v;
}
// BERT's pieces as llama.cpp's converter names them.
StoredVocabulary bert(const char* name) {
  StoredVocabulary v = vocabulary_of(json::parse(stored(name)), "bert", "");
  for (size_t i = 0; i < v.tokens.size(); ++i)
    if (std::string& t = v.tokens[i]; v.types[i] == text::kNormal)
      t = t.starts_with("##") ? t.substr(2) : std::string(text::kBlank) + t;
  return v;
}

std::vector<std::string> stored_texts() { return json::parse(stored("expected"))["texts"].get<std::vector<std::string>>(); }

// The stored texts, and such of characters and tokens at random, bytes that are no UTF-8 among them.
std::vector<std::string> texts_for(const StoredVocabulary& v, int count = 150) {
  std::vector<std::string> texts = stored_texts();
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return random() % n; };
  const char* const kParts[] = {
      " ",    "  ",   "\n",       "\r\n",     "\t",        "\xe2\x96\x81", "a", "the", "12", "'s",          ".",
      "\xff", "\xc3", "\xe4\xb8", "\xc3\xa9", "e\xcc\x81", "\xe4\xb8\xad", "<", ">",   "_",  "\xef\xbc\xa1"};
  for (int i = 0; i < count; ++i) {
    std::string s;
    for (size_t n = below(24); n-- > 0;) switch (below(4)) {
        case 0:
          text::append_utf8(s, char32_t(below(2) ? below(0x250) : below(0xd800)));
          break;
        case 1:
          s += v.tokens[below(v.tokens.size())];
          break;
        default:
          s += kParts[below(std::size(kParts))];
      }
    texts.push_back(s);
  }
  return texts;
}

void expect_same(const Tokenizer& a, const Tokenizer& b, const std::vector<std::string>& texts, const std::string& name) {
  for (const std::string& s : texts) {
    const auto ids = a.encode(s);
    ASSERT_EQ(ids, b.encode(s)) << name << ": " << s;
    ASSERT_EQ(a.encode(s, false), b.encode(s, false)) << name << ": " << s;
    for (bool skip : {false, true}) ASSERT_EQ(a.decode(ids, skip), b.decode(ids, skip)) << name << ": " << s;
  }
  EXPECT_EQ(a.vocab_size(), b.vocab_size()) << name;
  EXPECT_EQ(a.bos_id(), b.bos_id()) << name;
  EXPECT_EQ(a.eos_id(), b.eos_id()) << name;
  for (int64_t i = 0; i < a.vocab_size(); ++i) {
    ASSERT_EQ(a.id_to_token(i), b.id_to_token(i)) << name;
    ASSERT_EQ(a.is_special(i), b.is_special(i)) << name << ": " << i;
  }
}
Tokenizer written(const StoredVocabulary& v) {
  const text::TokenizerFiles files = text::files_of(v);
  return Tokenizer::from_json(files.tokenizer, files.config);
}
void expect_same(const StoredVocabulary& v, const std::string& name) {
  expect_same(Tokenizer::from_vocabulary(v), written(v), texts_for(v), name);
}

TEST(vocabulary_files, bytes) {
  const std::pair<const char*, const char*> kKinds[] = {
      {"gpt2", "gpt-2"},   {"llama3", "llama-bpe"}, {"qwen2", "qwen2"},  {"deepseek", "deepseek-v3"},
      {"o200k", "gpt-4o"}, {"o200k", "tekken"},     {"qwen2", "qwen35"}, {"starcoder", "starcoder"}};
  for (auto [name, pre] : kKinds) {
    StoredVocabulary v = vocabulary_of(json::parse(stored(name)), "gpt2", pre);
    v.bos = 0, v.eos = 1;
    expect_same(v, pre);
    v.add_bos = false, v.add_eos = true;
    expect_same(Tokenizer::from_vocabulary(v), written(v), {"", "a", "<|end|> a<|begin|>"}, name);
  }
}

TEST(vocabulary_files, pieces_by_scores) {
  StoredVocabulary v = sentencepiece("spm");
  expect_same(v, "spm");
  v.add_space_prefix = false;
  v.types[300] = text::kUserDefined, v.types[400] = text::kUnused;
  v.add_bos = false, v.add_eos = true;
  expect_same(v, "spm without prefix");
  // HF's own, by way of scores.
  const std::vector<std::string> texts = stored_texts();
  for (const char* name : {"llama2", "gemma", "mistral"}) {
    const Tokenizer own = Tokenizer::from_json(stored(name), kVocabularyConfig);
    const StoredVocabulary there = own.stored_vocabulary(own.vocab_size() + 3);
    expect_same(there, name);
    const Tokenizer back = written(there);
    for (const std::string& s : texts) {
      const auto ids = own.encode(s);
      if (own.decode(ids, true) != s) continue;  // GGUF knows one kind of prefix
      // A file has no word for Metaspace's "first": a blank stands behind every special token.
      if (std::string(name) == "mistral" &&
          std::ranges::any_of(own.encode(s, false), [&](int64_t i) { return own.is_special(i); }))
        continue;
      EXPECT_EQ(back.encode(s), ids) << name << ": " << s;
    }
  }
}

// As llama.cpp reads them: each stretch of text between special tokens is a text of its own.
TEST(vocabulary_files, a_blank_stands_behind_special_tokens) {
  for (const char* kind : {"spm", "ugm"}) {
    const StoredVocabulary v = sentencepiece(kind);
    for (const Tokenizer& t : {Tokenizer::from_vocabulary(v), written(v)}) {
      const std::vector<int64_t> first = t.encode("the end", false), then = t.encode(" of it", false);
      std::vector<int64_t> all = first;
      all.push_back(v.eos);
      all.insert(all.end(), then.begin(), then.end());
      ASSERT_EQ(t.encode("the end" + v.tokens[size_t(v.eos)] + " of it", false), all) << kind;
      EXPECT_EQ(t.encode(v.tokens[size_t(v.eos)], false), std::vector<int64_t>{v.eos}) << kind;
      EXPECT_NE(then, t.encode("\xe2\x96\x81\xe2\x96\x81\xe2\x96\x81of it", false)) << kind;
    }
  }
}

// Vocabularies at random, with pieces that merge in several ways and scores that tie: the same tokens, or it says so.
TEST(vocabulary_files, pieces_of_any_scores) {
  std::mt19937 random(3);
  const auto below = [&](size_t n) { return random() % n; };
  int made = 0;
  for (int round = 0; round < 60; ++round) {
    StoredVocabulary v;
    v.model = "llama";
    v.tokens = {"<unk>", "a", "b", "c", std::string(text::kBlank)};
    v.unknown = 0;
    for (int i = 0; i < 25; ++i) {
      const std::string t = v.tokens[1 + below(v.tokens.size() - 1)] + v.tokens[1 + below(v.tokens.size() - 1)];
      if (std::ranges::find(v.tokens, t) == v.tokens.end()) v.tokens.push_back(t);
    }
    const size_t scores = round % 3 ? 1000 : 12;
    for (size_t i = 0; i < v.tokens.size(); ++i) v.scores.push_back(-float(round % 2 ? i : below(scores)));
    v.types.assign(v.tokens.size(), text::kNormal);
    v.types[0] = text::kUnknown;
    try {
      const Tokenizer b = written(v), a = Tokenizer::from_vocabulary(v);
      ++made;
      for (int i = 0; i < 60; ++i) {
        std::string s;
        for (size_t n = below(30); n-- > 0;) s += "abc "[below(4)];
        ASSERT_EQ(a.encode(s), b.encode(s)) << round << ": " << s;
      }
    } catch (const ValueError& e) { EXPECT_NE(std::string(e.what()).find("would become"), std::string::npos) << e.what(); }
  }
  EXPECT_GT(made, 30);
}

TEST(vocabulary_files, unigram) {
  StoredVocabulary v = sentencepiece("ugm");
  for (bool collapse : {false, true})
    for (bool prefix : {true, false}) {
      v.remove_extra_whitespaces = collapse, v.add_space_prefix = prefix;
      expect_same(v, "ugm");
    }
}

TEST(vocabulary_files, word_pieces) {
  for (const char* name : {"bert", "bert_cased"}) {
    StoredVocabulary v = bert(name);
    const Tokenizer own = Tokenizer::from_json(stored(name));
    if (std::string(name) == "bert_cased") v.lowercase = false, v.strip_accents = true;
    expect_same(v, name);
    if (v.lowercase) continue;
    const Tokenizer back = written(v);
    for (const std::string& s : stored_texts())
      if (text::utf8_length(s) < 40) {  // its longest word
        EXPECT_EQ(back.encode(s), own.encode(s)) << s;
      }
  }
}

TEST(vocabulary_files, gemma4) {
  StoredVocabulary v = vocabulary_of(json::parse(stored("gemma")), "gemma4", "gemma4");
  v.bos = 1, v.eos = 2, v.unknown = 0;
  expect_same(v, "gemma4");
  // Gemma's own pieces reach over line ends, and these do not.
  json cut = json::parse(stored("gemma"));
  cut["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", "[^\n]+|\n+"}}}, {"behavior", "Isolated"}, {"invert", false}};
  const Tokenizer own = Tokenizer::from_json(cut.dump()), back = written(v);
  for (const std::string& s : stored_texts()) { EXPECT_EQ(back.encode(s), own.encode(s)) << s; }
}

// jina-embeddings-v2-base-zh's kind: pieces of characters as they are; what no piece has is left out.
TEST(vocabulary_files, characters) {
  StoredVocabulary v;
  v.model = "gpt2", v.pre = "whitespace";
  v.tokens = {"<s>",      "</s>",     "a", "b", "ab", " ", "\xe4\xbd\xa0", "\xe5\xa5\xbd", "\xe4\xbd\xa0\xe5\xa5\xbd",
              "\xc3\xa9", "a\xc3\xa9"};
  v.types.assign(v.tokens.size(), text::kNormal);
  v.types[0] = v.types[1] = text::kControl;
  v.merges = {"a b", "\xe4\xbd\xa0 \xe5\xa5\xbd", "a \xc3\xa9"};
  v.bos = 0, v.eos = 1;
  for (bool lowercase : {true, false}) {
    v.lowercase = lowercase;
    const Tokenizer t = Tokenizer::from_vocabulary(v);
    using Ids = std::vector<int64_t>;
    EXPECT_EQ(t.encode("AB  ab\n\xe4\xbd\xa0\xe5\xa5\xbdz\xe4\xb8\xad a\xc3\xa9"),
              lowercase ? (Ids{4, 5, 5, 4, 8, 5, 10}) : (Ids{5, 5, 4, 8, 5, 10}));
    EXPECT_EQ(t.decode(t.encode(" ab\xe4\xbd\xa0 ")), " ab\xe4\xbd\xa0 ");
    expect_same(v, "whitespace");
    expect_same(t, Tokenizer::from_vocabulary(written(v).stored_vocabulary()), texts_for(v), "whitespace");
  }
}

// A tokenizer.json's Unigram as GGUF's, which has its own way with blanks.
TEST(vocabulary_files, unigram_becomes_a_vocabulary) {
  const json own = json::parse(stored("t5"));
  StoredVocabulary with_map = sentencepiece("ugm");
  with_map.precompiled_charsmap = from_hex(json::parse(stored("sentencepiece"))["blanks"]);
  json charsmap = json::parse(text::files_of(with_map).tokenizer)["normalizer"]["normalizers"][0];
  const json strip = {{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}},
             runs = own["normalizer"]["normalizers"][1], words = own["pre_tokenizer"], marks = words["pretokenizers"][1];
  json after_words = marks;
  after_words["prepend_scheme"] = "never";
  struct {
    json normalizer, pre;
    bool collapses, prefix;
  } const kinds[] = {
      {{{"type", "Sequence"}, {"normalizers", {charsmap, strip, runs}}}, marks, true, true},  // as transformers writes it
      {charsmap, words, true, true},                                                          // as it did
      {charsmap, after_words, false, false},
  };
  for (const auto& [normalizer, pre, collapses, prefix] : kinds) {
    json j = own;
    j["normalizer"] = normalizer, j["pre_tokenizer"] = pre;
    const Tokenizer t = Tokenizer::from_json(j.dump(), kVocabularyConfig);
    const StoredVocabulary v = t.stored_vocabulary(t.vocab_size() + 3);
    EXPECT_EQ(v.remove_extra_whitespaces, collapses);
    EXPECT_EQ(v.add_space_prefix, prefix);
    const Tokenizer back = Tokenizer::from_vocabulary(v);
    int compared = 0;
    for (const std::string& s : texts_for(v, 500)) {
      if (s.find(text::kBlank) != s.npos) continue;  // no second one is put before it there
      ASSERT_EQ(back.encode(s, false), t.encode(s, false)) << pre << s;
      ++compared;
    }
    EXPECT_GT(compared, 250);
  }
  const auto refused = [](const json& j) -> std::string {
    try {
      Tokenizer::from_json(j.dump()).stored_vocabulary();
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  EXPECT_EQ(refused(own), "vocabulary: \"  \" would become other tokens");  // one blank stays of two at the end
  json first = own;
  first["normalizer"] = charsmap, first["pre_tokenizer"] = marks;
  EXPECT_EQ(refused(first), "vocabulary: \" \" would become other tokens");  // no second one comes before the first
  EXPECT_EQ(refused(json::parse(stored("albert"))),
            "vocabulary: GGUF has no form for what this tokenizer makes of a text's characters");
}

TEST(vocabulary_files, says_what_it_has_no_form_for) {
  const auto error = [](const StoredVocabulary& v) -> std::string {
    try {
      text::files_of(v);
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  StoredVocabulary v;
  v.model = "llama";
  v.tokens = {"a", "b", "ab"}, v.scores = {0, 0, -1};
  EXPECT_EQ(error(v), "");
  v.tokens[1] = "a";
  EXPECT_EQ(error(v), "vocabulary: tokens 0 and 1 are both \"a\"");
  v.tokens[1] = "\xff";
  EXPECT_EQ(error(v), "vocabulary: token 1 is no UTF-8");
  v.tokens[1] = "c";
  EXPECT_EQ(error(v), "vocabulary: token \"ab\" is merged of \"b\", which is no token");
  v.tokens[1] = "<0x0A>";
  v.tokens[2] = "aa";
  EXPECT_EQ(error(v), "vocabulary: 1 of 256 bytes have a token");
  v.scores[1] = -INFINITY;
  EXPECT_EQ(error(v), "vocabulary: the score of token \"<0x0A>\" is -inf");
  v.model = "rwkv";
  EXPECT_EQ(error(v), "vocabulary: the model \"rwkv\" is not supported: llama, gpt2, gemma4, bert and t5 are");
}

TEST(vocabulary_files, special_tokens_and_chats) {
  StoredVocabulary v = vocabulary_of(json::parse(stored("llama3")), "gpt2", "llama-bpe");
  v.bos = 0, v.eos = 1, v.padding = 1;
  v.chat_template = "{% for m in messages %}{{ m.content }}<|end|>{% endfor %}";
  const text::TokenizerFiles files = text::files_of(v);
  const json config = json::parse(files.config);
  EXPECT_EQ(config["bos_token"], "<|begin|>");
  EXPECT_EQ(config["eos_token"], "<|end|>");
  EXPECT_EQ(config["pad_token"], "<|end|>");
  const Tokenizer t = Tokenizer::from_json(files.tokenizer, files.config), own = Tokenizer::from_vocabulary(v);
  const std::string chat = R"([{"role": "user", "content": "hi  there"}])";
  EXPECT_EQ(t.encode_chat(chat), own.encode_chat(chat));
  EXPECT_EQ(t.encode("hi").front(), 0);  // llama.cpp's default of this way to cut text
}

}  // namespace
}  // namespace dyadic
