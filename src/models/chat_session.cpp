// A conversation: the template makes all of it anew for each turn, and what the cache has of it already is not read again.
#include <algorithm>

#include "base/json.h"
#include "dyadic/text_generation.h"
#include "models/config.h"

namespace dyadic::inline v1::models {
namespace {

json message(const char* role, const std::string& content) { return {{"role", role}, {"content", content}}; }
std::string text_of(const json& j) { return dump_json(j, -1, NotUtf8::replaced); }

}  // namespace

Chat::Chat(CausalLM& m, Tokenizer tokenizer, TextOptions options, const std::string& system)
    : model_(m),
      tokenizer_(std::move(tokenizer)),
      options_(std::move(options)),
      cache_(0, options_.generate.kv.value_or(m.kv)) {
  options_.generate.kv.reset();
  DY_CHECK_AS(ValueError, tokenizer_.has_chat_template(), "chat: the tokenizer has no chat template; give the model a prompt");
  json all = json::array();
  if (!system.empty()) all.push_back(message("system", system));
  messages_ = text_of(all);
}

GeneratedText Chat::say(const std::string& text) {
  json all = parse_json(messages_);
  all.push_back(message("user", text));
  const std::vector<int64_t> ids = tokenizer_.encode_chat(text_of(all), {.add_generation_prompt = true});
  const bool goes_on = ids.size() > read_.size() && std::equal(read_.begin(), read_.end(), ids.begin());
  if (!goes_on) cache_.clear();
  read_.clear();  // until what is read now is known: an error leaves a cache that is not used
  TextOptions o = options_;
  o.generate.cache = &cache_;
  GeneratedText made;
  try {
    made = generate_text(model_, tokenizer_, std::vector<std::vector<int64_t>>{ids}, o)[0];
  } catch (...) {
    cache_.clear();
    throw;
  }
  read_ = ids;
  read_.insert(read_.end(), made.tokens.begin(), made.tokens.end());
  read_.resize(size_t(cache_.length()));
  all.push_back(message("assistant", made.text));
  messages_ = text_of(all);
  return made;
}

}  // namespace dyadic::inline v1::models
