// Which tokens of a sample are learned, for templates in the manner of well-known families; packing.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dyadic/finetune.h"
#include "tests/models/apart.h"
#include "tests/models/small_model.h"
#include "tune/answers.h"
#include "tune/rows.h"

namespace dyadic::testing {
namespace {

using nlohmann::json;
using namespace tune;

Tokenizer tokenizer_with(const std::string& chat_template, const std::string& name = "llama3") {
  const bool bytes = name == "llama3";
  return Tokenizer::from_json(
      text_of_file(test_data("text/data/" + name + ".json")),
      json{{"bos_token", bytes ? "<|begin|>" : "<s>"}, {"eos_token", bytes ? "<|end|>" : "</s>"}}.dump(), chat_template);
}
json message(const std::string& role, const std::string& content) { return {{"role", role}, {"content", content}}; }
std::string chat(const json& messages) { return json{{"messages", messages}}.dump() + "\n"; }

// The sample with what is learned in braces.
std::string shown(const Sample& s, const Tokenizer& t) {
  std::string text;
  for (size_t i = 0; i < s.ids.size(); ++i) {
    const bool before = i > 0 && s.learned[i - 1];
    if (s.learned[i] && !before) text += "{";
    if (!s.learned[i] && before) text += "}";
    text += t.decode({s.ids[i]});
  }
  return text + (s.learned.back() ? "}" : "");
}
std::vector<std::string> shown(const std::string& jsonl, const Tokenizer& t, const SampleOptions& o = {}) {
  std::vector<std::string> all;
  for (const Sample& s : read_samples(jsonl, "chat.jsonl", t, o).all) all.push_back(shown(s, t));
  return all;
}
using Texts = std::vector<std::string>;

const std::string kRoles =  // ChatML's shape; the end is a special token, then comes a line break
    "{{ bos_token }}{% for m in messages %}{{ m['role'] + ': ' + m['content'] + eos_token + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}";
const std::string kBrackets =  // Llama 2's and Mistral's
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' }}"
    "{% else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}";
const std::string kThoughts =  // Qwen 3's: what was thought for earlier answers is left out
    "{% for m in messages %}{% if m.role == 'assistant' and not loop.last and '</think>' in m.content %}"
    "{{ 'assistant: ' + m.content.split('</think>')[-1] + eos_token + '\n' }}"
    "{% else %}{{ m.role + ': ' + m.content + eos_token + '\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}";

const json kTwoTurns = {message("system", "Be brief."), message("user", "2+2?"), message("assistant", "4"),
                        message("user", "Sure?"), message("assistant", "Yes, I am.")};

TEST(ChatSamples, AnswersAreLearnedWithTheirEnd) {
  EXPECT_EQ(
      shown(chat(kTwoTurns), tokenizer_with(kRoles)),
      Texts{
          "<|begin|>system: Be brief.<|end|>\nuser: 2+2?<|end|>\nassistant: {4<|end|>}\nuser: Sure?<|end|>\nassistant: {Yes, I "
          "am.<|end|>}"});
}

TEST(ChatSamples, OfTemplatesWithoutWordsThatAsk) {
  const json turns(kTwoTurns.begin() + 1, kTwoTurns.end());
  EXPECT_EQ(shown(chat(turns), tokenizer_with(kBrackets)),
            Texts{"<|begin|>[INST] 2+2? [/INST]{ 4<|end|>}[INST] Sure? [/INST]{ Yes, I am.<|end|>}"});
  // SentencePiece's tokens begin words: nothing may be cut in two by encoding the parts apart.
  const Tokenizer words = tokenizer_with(kBrackets, "llama2");
  const std::vector<Sample> samples = read_samples(chat(turns), "chat.jsonl", words).all;
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].ids, words.encode_chat(turns.dump()));
  std::vector<int64_t> learned;
  for (size_t i = 0; i < samples[0].ids.size(); ++i)
    if (samples[0].learned[i]) learned.push_back(samples[0].ids[i]);
  const std::string said = words.decode(learned);
  EXPECT_NE(said.find("4</s>"), said.npos) << said;
  EXPECT_NE(said.find("Yes, I am.</s>"), said.npos) << said;
  EXPECT_EQ(said.find("INST"), said.npos) << said;
}

TEST(ChatSamples, AnswersThatAreShownOtherwiseLaterAreSamplesOfTheirOwn) {
  const json turns{message("user", "2+2?"), message("assistant", "<think>hm</think>4"), message("user", "Sure?"),
                   message("assistant", "<think>ha</think>Yes.")};
  const Tokenizer t = tokenizer_with(kThoughts);
  EXPECT_EQ(
      shown(chat(turns), t),
      (Texts{
          "<|begin|>user: 2+2?<|end|>\nassistant: {<think>hm</think>4<|end|>}",
          "<|begin|>user: 2+2?<|end|>\nassistant: 4<|end|>\nuser: Sure?<|end|>\nassistant: {<think>ha</think>Yes.<|end|>}"}));
  EXPECT_EQ(read_samples(chat(turns), "chat.jsonl", t).split, 1);
}

// A token of both the words that ask and the answer is learned: " Ho" is one.
TEST(ChatSamples, WhatFollowsTheLastAnswerIsLeftOut) {
  const json turns{message("user", "Hi"), message("assistant", "Ho"), message("user", "Well?")};
  EXPECT_EQ(shown(chat(turns), tokenizer_with(kRoles)), Texts{"<|begin|>user: Hi<|end|>\nassistant:{ Ho<|end|>}"});
}

TEST(Samples, CompletionsAndTexts) {
  const Tokenizer t = tokenizer_with("");
  EXPECT_EQ(shown(R"({"prompt": "2+2=", "completion": " 4"})", t), Texts{"<|begin|>2+2={ 4<|end|>}"});
  EXPECT_EQ(shown("\n{\"text\": \"Once\"}\n\n", t).size(), 1u);
  const std::string text(100, 'x');
  const std::vector<int64_t> whole = t.encode(text);
  const Samples pieces = read_samples(json{{"text", text}}.dump(), "text", t, {.context = 8});
  EXPECT_EQ(pieces.tokens(), int64_t(whole.size()) + 1);  // and the EOS
  EXPECT_EQ(pieces.learned(), pieces.tokens() - int64_t(pieces.all.size()));
  EXPECT_EQ(pieces.cut, 0);
}

TEST(Samples, TooLong) {
  const Tokenizer t = tokenizer_with(kRoles);
  const std::string two = chat({message("user", "Hi"), message("assistant", "a b c d e f g h i j k l m n o p")}) +
                          chat({message("user", std::string(200, 'z')), message("assistant", "never seen")});
  const Samples cut = read_samples(two, "chat.jsonl", t, {.context = 24});
  EXPECT_EQ(cut.cut, 1);
  EXPECT_EQ(cut.dropped, 1);
  ASSERT_EQ(cut.all.size(), 1u);
  EXPECT_EQ(cut.all[0].ids.size(), 24u);
  EXPECT_THROW(read_samples(two, "chat.jsonl", t, {.context = 24, .too_long = TooLong::drop}), ValueError);  // nothing is left
  try {
    read_samples(two, "chat.jsonl", t, {.context = 24, .too_long = TooLong::refuse});
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_NE(std::string(e.what()).find("chat.jsonl: line 1: it has"), std::string::npos) << e.what();
  }
}

TEST(Samples, Refuses) {
  const auto words = [](const std::string& jsonl, const std::string& chat_template = kRoles) -> std::string {
    try {
      read_samples(jsonl, "chat.jsonl", tokenizer_with(chat_template));
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  const std::string good = chat({message("user", "Hi"), message("assistant", "Ho")});
  EXPECT_EQ(words(good + "{\"messages\": [}\n"), "chat.jsonl: line 2: it is no JSON");
  EXPECT_EQ(words(good + "\n[1]\n"),
            R"(chat.jsonl: line 3: expected {"messages": [...]}, {"prompt": TEXT, "completion": TEXT} or {"text": TEXT})");
  EXPECT_EQ(words(chat(json::array({message("user", "Hi")}))),
            R"(chat.jsonl: line 1: there is no answer in the chat: no message has the role "assistant")");
  EXPECT_EQ(words(R"({"messages": []})"), "chat.jsonl: line 1: messages: it is no list of messages");
  EXPECT_NE(words(R"({"messages": [{"content": "Hi"}]})").find("line 1: a message has no \"role\""), std::string::npos);
  EXPECT_NE(words(good, "").find("line 1: a chat needs a chat template, and the tokenizer has none"), std::string::npos);
  EXPECT_NE(words(good, "{{ raise_exception('no') }}").find("chat.jsonl: line 1: "), std::string::npos);
  EXPECT_EQ(words("\n"), "chat.jsonl: there is nothing to learn in it");
  EXPECT_NE(words(good, "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}")
                .find("leaves out what message 2 says"),
            std::string::npos);
}

// Samples of tokens alone.
std::vector<Sample> some_samples(std::vector<size_t> lengths) {
  std::vector<Sample> all;
  int64_t next = 5;
  for (const size_t n : lengths) {
    Sample s;
    for (size_t i = 0; i < n; ++i) s.ids.push_back(next = (next * 31 + 7) % 700), s.learned.push_back(i >= n / 3 && i > 0);
    all.push_back(s);
  }
  return all;
}

TEST(Packing, FillsRows) {
  const std::vector<Sample> samples = some_samples({5, 9, 3, 7, 2, 6});
  const std::vector<Row> rows = rows_of(samples, 16, true);
  EXPECT_EQ(rows.size(), 2u);  // of 32 tokens
  EXPECT_EQ(rows_of(samples, 16, false).size(), 6u);
  for (const Row& r : rows) {
    ASSERT_EQ(r.ids.size(), 16u);
    for (size_t i = 0; i < 16; ++i) {
      const bool last = i == 15 || r.starts[i + 1] != r.starts[i];
      EXPECT_TRUE(!last || r.labels[i] == kNotLearned) << "nothing predicts another sample's first token";
      EXPECT_TRUE(r.labels[i] == kNotLearned || r.labels[i] == r.ids[i + 1]);
    }
  }
}

class PackedModels : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Families, PackedModels,
                         ::testing::Values("llama", "gemma3", "gpt2", "deepseek_v3", "qwen3_moe", "gpt_oss"));

// The loss of samples in one row is the sum of their losses alone.
TEST_P(PackedModels, LossIsThatOfSamplesAlone) {
  const NoGrad guard;
  const models::Model m = models::load(model_data(GetParam()), {.dtype = f64});
  std::vector<Sample> samples = some_samples({7, 11, 5, 9});
  for (Sample& s : samples)
    for (int64_t& id : s.ids) id %= 64;
  const std::vector<Row> together = rows_of(samples, 40, true);
  ASSERT_EQ(together.size(), 1u);
  Answers answers(*m);
  double apart = 0;
  for (const Row& r : rows_of(samples, 40, false)) apart += answers.loss(batch_of({&r}, false)).item();
  const double packed = answers.loss(batch_of({&together[0]}, true)).item();
  EXPECT_NEAR(packed, apart, 1e-9 * apart);
  // The same as rows of different lengths beside each other, padded.
  const std::vector<Row> rows = rows_of(samples, 40, false);
  EXPECT_NEAR(answers.loss(batch_of({&rows[0], &rows[1], &rows[2], &rows[3]}, false)).item(), apart, 1e-9 * apart);
  // Without starts they see each other.
  EXPECT_GT(std::abs(answers.loss(batch_of({&together[0]}, false)).item() - apart), 1e-4 * apart);
}

TEST(PackedModels, RecurrentLayersRefuse) {
  const NoGrad guard;
  const models::Model m = models::load(model_data("qwen3_5"), {.dtype = f32});
  const Tensor ids = zeros({1, 6}, i64), starts = tensor({0, 0, 0, 3, 3, 3}, i64).reshape({1, 6});
  try {
    m->forward_packed(ids, starts);
    FAIL();
  } catch (const ValueError& e) { EXPECT_NE(std::string(e.what()).find("no packing"), std::string::npos) << e.what(); }
  EXPECT_THROW(m->forward_packed(ids, ones({1, 6}, i64)), ValueError);  // a text that begins after its token
}

}  // namespace
}  // namespace dyadic::testing
