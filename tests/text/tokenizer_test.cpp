// Tokenizers against stored results of Hugging Face's tokenizers and of SentencePiece (data/make_tokenizers.py made both).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "dyadic/error.h"
#include "dyadic/tokenizer.h"
#include "tests/test_data.h"
#include "text/unicode.h"

namespace dyadic {
namespace {

using nlohmann::json;

std::string read(const std::string& path) {
  std::ifstream f(test_data("text/data/" + path), std::ios::binary);
  std::stringstream s;
  s << f.rdbuf();
  return s.str();
}
Tokenizer tokenizer(const std::string& name) { return Tokenizer::load(test_data("text/data/" + name + ".json")); }

// Long texts are merged word by word where no merge goes over a space, and whole where one does.
TEST(tokenizer, merges_over_spaces_are_found_in_long_texts) {
  for (const bool over : {false, true}) {
    json j = {{"version", "1.0"}, {"added_tokens", json::array()}};
    j["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}};
    j["model"] = {{"type", "BPE"},
                  {"vocab", {{"a", 0}, {"\u2581", 1}, {"a\u2581", 2}, {"\u2581a", 3}, {"\u2581\u2581", 4}, {"<unk>", 5}}},
                  {"merges", json::array({json::array({over ? "a" : "\u2581", "\u2581"}), json::array({"\u2581", "a"})})},
                  {"unk_token", "<unk>"},
                  {"fuse_unk", true}};
    const Tokenizer t = Tokenizer::from_json(j.dump());
    std::string text = "xy";
    std::vector<int64_t> want{5};
    for (int i = 0; i < 60; ++i) {
      text += "  aaxx";
      const std::vector<int64_t> word = over ? std::vector<int64_t>{1, 3, 0, 5} : std::vector<int64_t>{4, 0, 0, 5};
      want.insert(want.end(), word.begin(), word.end());
    }
    EXPECT_EQ(t.encode(text), want) << over;
    std::string as = "a";
    std::vector<int64_t> ids;
    for (int i = 0; i < 100; ++i) as += " a", ids.push_back(over ? 2 : 3);
    ids.insert(over ? ids.end() : ids.begin(), 0);
    EXPECT_EQ(t.encode(as), ids) << over;
  }
}

TEST(tokenizer, same_ids_and_text_as_hugging_face) {
  const json expected = json::parse(read("expected.json"));
  const auto& texts = expected["texts"];
  ASSERT_GE(texts.size(), 100u);
  ASSERT_EQ(expected["tokenizers"].size(), 16u);
  for (const auto& [name, results] : expected["tokenizers"].items()) {
    const Tokenizer t = tokenizer(name);
    for (size_t i = 0; i < texts.size(); ++i) {
      const std::string text = texts[i].get<std::string>();
      const auto ids = t.encode(text);
      EXPECT_EQ(json(ids), results[i][0]) << name << ": " << text;
      EXPECT_EQ(text::valid_utf8(t.decode(ids, true)), results[i][1].get<std::string>()) << name << ": " << text;
    }
  }
}

TEST(tokenizer, bytes_come_back) {
  const std::string bad = "a\xff\xfe z\xe4\xb8 \xc0\x80\xed\xa0\x80 \xf4\x90\x80\x80 e";
  for (const char* name : {"gpt2", "llama3", "o200k", "deepseek", "starcoder", "llama2", "mistral"}) {
    const Tokenizer t = tokenizer(name);
    EXPECT_EQ(t.decode(t.encode(bad, false), true), bad) << name;
  }
  std::string every;
  for (int i = 0; i < 256; ++i) every += char(i);
  const Tokenizer t = tokenizer("gpt2");
  EXPECT_EQ(t.decode(t.encode(every)), every);
}

TEST(tokenizer, batch_long_runs_and_special_tokens) {
  const Tokenizer t = tokenizer("llama3");
  const std::string run(200'000, 'a');
  const std::vector<std::string> texts = {run, "", "x <|eot|>", std::string(100'000, ' ') + "y"};
  const auto all = t.encode_batch(texts);
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(all[i], t.encode(texts[i]));
    EXPECT_EQ(all[i][0], 0);
    EXPECT_EQ(t.decode(t.encode(texts[i], false)), texts[i]);
  }
  EXPECT_EQ(t.decode(all[2], true), "x ");
  const auto eot = t.token_to_id("<|eot|>");
  ASSERT_TRUE(eot);
  EXPECT_TRUE(t.is_special(*eot));
  EXPECT_EQ(t.id_to_token(*eot), "<|eot|>");
  EXPECT_EQ(t.vocab_size(), *eot + 1);
  EXPECT_EQ(t.decode({*eot, t.vocab_size(), *eot}), "<|eot|><|eot|>");  // of a row that pads a model's embedding
  EXPECT_THROW(t.decode({-1}), ValueError);
}

TEST(tokenizer, a_stream_never_cuts_a_character) {
  const std::string text = "caf\xc3\xa9 \xf0\x9f\x98\x80\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd \xe4\xb8\xad\xe6\x96\x87 end";
  for (const char* name : {"gpt2", "llama2", "gemma"}) {
    const Tokenizer t = tokenizer(name);
    TokenStream stream(t);
    std::string all;
    for (int round = 0; round < 20; ++round)
      for (int64_t id : t.encode(round ? "\n" + text : text, false)) {
        const std::string part = stream.push(id);
        EXPECT_EQ(text::valid_utf8(part), part) << name;
        all += part;
      }
    all += stream.finish();
    EXPECT_NE(all.find(text), all.npos) << name;
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 19) << name;
  }
}

TEST(tokenizer, sentencepiece_vocabularies) {
  const json data = json::parse(read("sentencepiece.json"));
  for (const char* kind : {"spm", "ugm"}) {
    const json& d = data[kind];
    StoredVocabulary v;
    v.model = std::string(kind) == "spm" ? "llama" : "t5";
    v.tokens = d["tokens"].get<std::vector<std::string>>();
    v.scores = d["scores"].get<std::vector<float>>();
    v.types = d["types"].get<std::vector<int32_t>>();
    v.unknown = 0;
    v.bos = 1;
    v.eos = 2;
    if (d.contains("charsmap")) {
      const std::string hex = d["charsmap"].get<std::string>();
      for (size_t i = 0; i < hex.size(); i += 2) v.precompiled_charsmap += char(std::stoi(hex.substr(i, 2), nullptr, 16));
      v.remove_extra_whitespaces = d["remove_extra"].get<bool>();
    }
    const Tokenizer t = Tokenizer::from_vocabulary(v);
    for (size_t i = 0; i < data["texts"].size(); ++i) {
      const std::string text = data["texts"][i].get<std::string>();
      EXPECT_EQ(json(t.encode(text, false)), d["ids"][i]) << kind << ": " << text;
    }
    EXPECT_EQ(t.bos_id(), 1);
    EXPECT_EQ(t.encode("a").front() == 1, v.model == "llama");
  }
}

TEST(tokenizer, gguf_bpe_is_the_same_tokenizer) {
  const std::pair<const char*, const char*> kKinds[] = {
      {"gpt2", "gpt-2"}, {"llama3", "llama-bpe"}, {"deepseek", "deepseek-v3"}, {"o200k", "gpt-4o"}, {"starcoder", "starcoder"}};
  for (auto [name, pre] : kKinds) {
    const json j = json::parse(read(std::string(name) + ".json"));
    StoredVocabulary v;
    v.model = "gpt2";
    v.pre = pre;
    v.tokens.resize(j["model"]["vocab"].size());
    for (const auto& [token, id] : j["model"]["vocab"].items()) v.tokens[id.get<size_t>()] = token;
    for (const auto& m : j["model"]["merges"]) v.merges.push_back(m[0].get<std::string>() + " " + m[1].get<std::string>());
    v.types.assign(v.tokens.size(), 1);
    v.types[0] = v.types[1] = 3;
    const Tokenizer a = tokenizer(name), b = Tokenizer::from_vocabulary(v);
    const json expected = json::parse(read("expected.json"));
    for (const auto& text : expected["texts"]) {
      const std::string s = text.get<std::string>();
      EXPECT_EQ(a.encode(s, false), b.encode(s, false)) << name << ": " << s;
    }
  }
  StoredVocabulary v;
  v.model = "gpt2";
  v.pre = "martian";
  v.tokens = {"a"};
  EXPECT_THROW(Tokenizer::from_vocabulary(v), ValueError);
}

TEST(tokenizer, trains_bpe) {
  const Tokenizer t = Tokenizer::train_bpe({"low low low lower lower newest newest newest widest", "low"},
                                           {.vocab_size = 300, .special_tokens = {"<end>"}});
  EXPECT_EQ(t.token_to_id("<end>"), 0);
  EXPECT_TRUE(t.token_to_id("low"));
  const std::string text = "lowest <end>\xff new";
  EXPECT_EQ(t.decode(t.encode(text)), text);
  EXPECT_EQ(t.encode("low<end>"), (std::vector<int64_t>{*t.token_to_id("low"), 0}));
  EXPECT_THROW(Tokenizer::train_bpe({}, {.vocab_size = 10}), ValueError);
  const Tokenizer again = Tokenizer::train_bpe({"low low low lower lower newest newest newest widest", "low"},
                                               {.vocab_size = 300, .special_tokens = {"<end>"}});
  EXPECT_EQ(t.encode("the lowest and newest"), again.encode("the lowest and newest"));
}

// What frames two texts is the file's; of types that say nothing else the second text has 1.
TEST(tokenizer, pairs_are_framed_as_the_file_says) {
  const Tokenizer bert = tokenizer("bert");
  const std::vector<int64_t> a = bert.encode("hi there", false), b = bert.encode("you", false);
  std::vector<int64_t> want = bert.encode("hi there"), types(want.size(), 0);
  want.insert(want.end(), b.begin(), b.end()), want.push_back(want[a.size() + 1]);
  types.resize(want.size(), 1);
  const Encoding pair = bert.encode_full("hi there", "you");
  EXPECT_EQ(pair.ids, want);
  EXPECT_EQ(pair.type_ids, types);
  EXPECT_EQ(std::ranges::count(pair.special, true), 3);
  EXPECT_EQ(bert.encode_full("hi there").ids, bert.encode("hi there"));
  EXPECT_EQ(bert.encode_full("hi there", "you", {.add_special_tokens = false}).ids.size(), a.size() + b.size());
  EXPECT_EQ(bert.encode_full("hi there", "you", {.max_length = 4}).ids.size(), 4u);
  EXPECT_THROW(bert.encode_full("hi there", "you", {.max_length = 2}), ValueError);
  json two = json::parse(read("bert.json"));
  const json once = two["post_processor"];
  two["post_processor"] = {{"type", "Sequence"}, {"processors", {once, once}}};
  const Tokenizer twice = Tokenizer::from_json(two.dump());
  EXPECT_EQ(twice.encode_full("hi there").ids, twice.encode("hi there"));
  EXPECT_THROW(twice.encode_full("hi there", "you"), ValueError);
  two["post_processor"] = once;
  two["post_processor"]["pair"] = json::array({once["pair"][0]});
  EXPECT_THROW(Tokenizer::from_json(two.dump()), ValueError);
}

TEST(tokenizer, refuses_by_name) {
  const auto error = [](const std::string& s) -> std::string {
    try {
      Tokenizer::from_json(s);
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  EXPECT_EQ(error("[]"), "it is not an object");
  EXPECT_EQ(error("{"), "not JSON at byte 2");
  EXPECT_EQ(error(R"({"model": {"type": "Magic"}})"), "model Magic is not supported");
  EXPECT_EQ(error(R"({"model": {"type": "BPE", "vocab": {"a": 99999999999}, "merges": []}})"),
            "model: token \"a\": its id 99999999999 is no number below 4100");
  EXPECT_EQ(error(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [["a", "b"]]}})"),
            "model: merge 0 of \"a\" and \"b\": \"b\" is not in the vocabulary");
  EXPECT_EQ(error(R"({"normalizer": {"type": "Shout"}, "model": {"type": "BPE", "vocab": {}, "merges": []}})"),
            "normalizer Shout is not supported");
  EXPECT_EQ(error(R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"}, "model": {}})"),
            "regular expression \"(a\": at 2: a group that does not end");
  std::string deep = "{\"type\":\"NFC\"}";
  for (int i = 0; i < 30; ++i) deep = "{\"type\":\"Sequence\",\"normalizers\":[" + deep + "]}";
  EXPECT_EQ(error("{\"normalizer\":" + deep + "}"), "normalizer: sequences nested more than 16 deep");
  EXPECT_THROW(Tokenizer::load("/nowhere/tokenizer.json"), Error);
}

}  // namespace
}  // namespace dyadic
