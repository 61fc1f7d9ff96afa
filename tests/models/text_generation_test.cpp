// Text from language models: what is streamed, what ends it, and chats.
#include "dyadic/text_generation.h"

#include <gtest/gtest.h>

#include "models/row_text.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {
namespace {

using namespace models;

struct Fixture : ::testing::Test {
  Tokenizer t = Tokenizer::load(small_model());
  Model m = models::load(small_model(), {.dtype = f32});
  GenerateOptions greedy{.max_new_tokens = 24, .eos_token_id = std::vector<int64_t>()};
};
using TextGeneration = Fixture;
using ChatSession = Fixture;

bool gather_text(void* to, size_t row, std::string_view text) {
  auto& all = *static_cast<std::map<size_t, std::vector<std::string>>*>(to);
  all[row].emplace_back(text);
  return true;
}
std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (auto& p : parts) all += p;
  return all;
}

TEST_F(TextGeneration, IsWhatGenerateMakes) {
  std::map<size_t, std::vector<std::string>> told;
  const GeneratedText r = generate_text(*m, t, "Once upon", {.generate = greedy, .on_text = gather_text, .context = &told});
  const std::vector<int64_t> prompt = t.encode("Once upon");
  const Tensor all = m.generate(from_data(prompt.data(), {1, int64_t(prompt.size())}, i64), greedy);
  EXPECT_EQ(r.tokens.size(), 24u);
  for (size_t i = 0; i < 24; ++i) EXPECT_EQ(all[0][int64_t(prompt.size() + i)].item<int64_t>(), r.tokens[i]);
  EXPECT_EQ(r.text, t.decode(r.tokens, true));
  EXPECT_EQ(r.finish_reason, "length");
  EXPECT_EQ(r.prompt_tokens, int64_t(prompt.size()));
  EXPECT_GT(r.tokens_per_s, 0);
  EXPECT_EQ(joined(told[0]), r.text);
  EXPECT_GT(told[0].size(), 5u);
}

TEST_F(TextGeneration, StopStringsEndItAndAreNotShown) {
  const GeneratedText whole = generate_text(*m, t, "Once upon", {.generate = greedy});
  for (size_t at : {3u, 7u, 12u}) {  // within tokens and across them
    const std::string stop = whole.text.substr(at, 5);
    const size_t first = whole.text.find(stop);
    std::map<size_t, std::vector<std::string>> told;
    GenerateOptions o = greedy;
    o.stop_strings = {"that does not come", stop};
    const GeneratedText r = generate_text(*m, t, "Once upon", {.generate = o, .on_text = gather_text, .context = &told});
    EXPECT_EQ(r.text, whole.text.substr(0, first));
    EXPECT_EQ(joined(told[0]), r.text);
    EXPECT_EQ(r.finish_reason, "stop");
    EXPECT_LT(r.tokens.size(), 24u);
    // The token that completes it is the last.
    const std::string made = t.decode(r.tokens, true);
    EXPECT_NE(made.find(stop), made.npos);
    EXPECT_EQ(t.decode({r.tokens.begin(), r.tokens.end() - 1}, true).find(stop), made.npos);
  }
  GenerateOptions o = greedy;
  o.stop_strings = {""};
  EXPECT_THROW(generate_text(*m, t, "x", {.generate = o}), ValueError);
}

TEST_F(TextGeneration, StopStringsAreFoundInSpecialTokensWhichAreNotShown) {
  const std::vector<int64_t> a = t.encode("Once up", false), b = t.encode("on a time", false);
  const auto said = [&](const std::vector<std::string>& stops, bool& stopped) {
    RowText r(t, stops);
    std::string told;
    for (int64_t id : a) told += r.push(id);
    told += r.push(1);  // <|end|>
    for (int64_t id : b) told += r.push(id);
    told += r.finish();
    stopped = r.stopped();
    EXPECT_EQ(told, r.text);
    return r.text;
  };
  bool stopped = false;
  EXPECT_EQ(said({}, stopped), "Once upon a time");
  EXPECT_FALSE(stopped);
  EXPECT_EQ(said({"<|end|>"}, stopped), "Once up");
  EXPECT_TRUE(stopped);
  EXPECT_EQ(said({"up<|end|>on"}, stopped), "Once ");
  EXPECT_EQ(said({"|>on a"}, stopped), "Once up");
  EXPECT_EQ(said({"a t"}, stopped), "Once upon ");
  EXPECT_EQ(said({"upon"}, stopped), "Once upon a time");  // the special token stands between
  EXPECT_FALSE(stopped);
  // What generate gives ends with the same token as what generate_text gives.
  GenerateOptions o = greedy;
  o.stop_strings = {generate_text(*m, t, "Once upon", {.generate = greedy}).text.substr(7, 5)}, o.tokenizer = &t;
  const std::vector<int64_t> prompt = t.encode("Once upon");
  const Tensor all = m.generate(from_data(prompt.data(), {1, int64_t(prompt.size())}, i64), o);
  EXPECT_EQ(all.size(1), int64_t(prompt.size() + generate_text(*m, t, "Once upon", {.generate = o}).tokens.size()));
}

TEST_F(TextGeneration, ATokenizerLargerThanTheVocabularyIsNamed) {
  const Model small = models::load(model_data("llama"));
  try {
    generate_text(*small, t, "Once upon", {.generate = greedy});
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_NE(std::string(e.what()).find("the tokenizer has 701 tokens and the model's vocabulary 64"), std::string::npos)
        << e.what();
  }
}

TEST_F(TextGeneration, TokensThatEndIt) {
  const GeneratedText whole = generate_text(*m, t, "Once upon", {.generate = greedy});
  GenerateOptions o = greedy;
  o.eos_token_id = std::vector<int64_t>{whole.tokens[9]};
  const GeneratedText r = generate_text(*m, t, "Once upon", {.generate = o});
  EXPECT_EQ(r.finish_reason, "stop");
  EXPECT_EQ(r.tokens.back(), whole.tokens[9]);
  EXPECT_LE(r.tokens.size(), 10u);
  // Those of generation_config.json are the model's, before config.json's.
  EXPECT_EQ(m->eos_token_ids(), std::vector<int64_t>({1}));
  m->generation_config = R"({"eos_token_id": [5, 7], "do_sample": true, "temperature": 0.6, "top_k": 20})";
  EXPECT_EQ(m->eos_token_ids(), std::vector<int64_t>({5, 7}));
  const GenerateOptions advised = advised_options(*m);
  EXPECT_TRUE(advised.do_sample);
  EXPECT_EQ(advised.temperature, 0.6);
  EXPECT_EQ(advised.top_k, 20);
  // Nesting that would take the stack is no advice.
  const std::string deep(200'000, '['), end(200'000, ']');
  m->generation_config = R"({"temperature": 0.6, "eos_token_id": )" + deep + end + "}";
  EXPECT_EQ(m->eos_token_ids(), std::vector<int64_t>({1}));
  EXPECT_EQ(advised_options(*m).temperature, 1);
}

TEST_F(TextGeneration, RowsOfOneBatchAreWhatEachIsAlone) {
  std::vector<std::vector<int64_t>> prompts;
  for (const char* p : {"Once upon a time there was", "No", "The 42 of"}) prompts.push_back(t.encode(p));
  const auto rows = generate_text(*m, t, prompts, {.generate = greedy});
  for (size_t i = 0; i < prompts.size(); ++i)
    EXPECT_EQ(rows[i].tokens, generate_text(*m, t, std::vector{prompts[i], prompts[i]}, {.generate = greedy})[0].tokens) << i;
  EXPECT_TRUE(generate_text(*m, t, std::vector<std::vector<int64_t>>(), {.generate = greedy}).empty());
  EXPECT_THROW(generate_text(*m, t, std::vector<std::vector<int64_t>>{{}, {1}}, {}), ValueError);
}

// A cache that is handed on saves reading and changes nothing.
TEST_F(TextGeneration, ACacheGoesOn) {
  const std::vector<int64_t> prompt = t.encode("Once upon a time");
  const Tensor ids = from_data(prompt.data(), {1, int64_t(prompt.size())}, i64);
  Cache cache;
  GenerateOptions o = greedy;
  o.cache = &cache, o.max_new_tokens = 7;
  const Tensor first = m.generate(ids, o);
  EXPECT_EQ(cache.length(), first.size(1) - 1);
  o.max_new_tokens = 17;
  EXPECT_TRUE(equal(m.generate(first, o), m.generate(ids, greedy)));
  EXPECT_THROW(m.generate(ids, o), ValueError);  // it holds more than that
}

TEST_F(ChatSession, EachTurnIsTheWholeConversationAnew) {
  TextOptions o{.generate = greedy};
  Chat chat(*m, t, o, "Be brief.");
  std::string messages = R"([{"role":"system","content":"Be brief."}])";
  for (const char* said : {"Who are you?", "And where?", "Why \"so\"?"}) {
    auto all = nlohmann::json::parse(messages);
    all.push_back({{"role", "user"}, {"content", said}});
    const std::vector<int64_t> ids = t.encode_chat(all.dump(), {.add_generation_prompt = true});
    EXPECT_EQ(std::ranges::count(ids, 0), 1);  // one BOS, at the beginning
    EXPECT_EQ(ids[0], 0);
    const GeneratedText want = generate_text(*m, t, std::vector<std::vector<int64_t>>{ids}, o)[0];
    EXPECT_EQ(chat.say(said).text, want.text) << said;
    all.push_back({{"role", "assistant"}, {"content", want.text}});
    messages = all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    EXPECT_EQ(nlohmann::json::parse(chat.messages()), nlohmann::json::parse(messages));
  }
}

}  // namespace
}  // namespace dyadic::testing
