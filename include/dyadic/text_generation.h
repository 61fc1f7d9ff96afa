// Text from language models: prompts and chats in, text out while it is made.
//
//   auto m = dy::models::load("path/to/Qwen3-0.6B");
//   auto t = dy::Tokenizer::load("path/to/Qwen3-0.6B");
//   std::string story = dy::models::generate_text(*m, t, "Once", {.generate = {.max_new_tokens = 64}}).text;
//
//   dy::models::Chat chat(*m, t);
//   std::string answer = chat.say("Who are you?").text;
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "dyadic/models.h"
#include "dyadic/tokenizer.h"

namespace dyadic::inline v1::models {

struct TextOptions {
  nn::ByName by_name = {};
  // Of these tokenizer, cache and streamer are set here. An eos_token_id that is not set is the model's and the tokenizer's.
  GenerateOptions generate = {};
  // Is told text as it is made, of row `row`: never half a character, never what a stop string may begin with. False: enough.
  bool (*on_text)(void* context, size_t row, std::string_view text) = nullptr;
  void* context = nullptr;
};

struct GeneratedText {
  std::string text;             // what follows the prompt: without special tokens and the string that ended it
  std::vector<int64_t> tokens;  // that were made, the one that ended it among them
  // "stop": a token or a string that ends texts; "length": so many as were asked for, or as the model can read;
  // "interrupted".
  std::string finish_reason;
  int64_t prompt_tokens = 0;
  double tokens_per_s = 0;  // of all rows together, from the first token on
  int64_t cache_bytes = 0;  // what keys and values of all rows together had room in
};

// Rows of several prompts are computed together, the shorter ones padded on their left. ValueError for a prompt of no token.
std::vector<GeneratedText> generate_text(CausalLM& m, const Tokenizer& tokenizer,
                                         const std::vector<std::vector<int64_t>>& prompts, const TextOptions& options = {});
GeneratedText generate_text(CausalLM& m, const Tokenizer& tokenizer, std::string_view prompt, const TextOptions& options = {});

// The options that the makers of a model advise, generation_config.json's: sampling or not, temperature, top_k, top_p, min_p,
// repetition_penalty. `otherwise` where it says nothing.
GenerateOptions advised_options(const CausalLM& m, GenerateOptions otherwise = {});

// A conversation by the tokenizer's chat template. What was said is read once, as long as the template keeps it as it was.
class Chat {
  CausalLM& model_;
  Tokenizer tokenizer_;
  TextOptions options_;
  std::string messages_;  // a JSON list
  Cache cache_;
  std::vector<int64_t> read_;  // the tokens in the cache

 public:
  // ValueError where the tokenizer has no template. The model must outlive the chat.
  Chat(CausalLM& m, Tokenizer tokenizer, TextOptions options = {}, const std::string& system = {});
  GeneratedText say(const std::string& message);  // the answer, which is then a part of the conversation
  const std::string& messages() const { return messages_; }
};

}  // namespace dyadic::inline v1::models
