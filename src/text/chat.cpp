// Chats: what a model's template is given, and ids with one BOS.
#include <algorithm>

#include "base/check.h"
#include "dyadic/tokenizer.h"
#include "text/jinja.h"
#include "text/tokenizer_state.h"

namespace dyadic::inline v1 {

bool Tokenizer::has_chat_template() const { return state_->chat_template != nullptr; }

std::string Tokenizer::apply_chat_template(std::string_view messages, const ChatOptions& options) const {
  using text::jinja::Kind, text::jinja::Value;
  const bool other = !options.chat_template.empty();
  DY_CHECK_AS(ValueError, other || state_->chat_template, "apply_chat_template: the tokenizer has no chat template");
  std::vector<std::pair<std::string, Value>> names;
  for (const auto& [name, content] : state_->special_texts) names.emplace_back(name, content);
  names.emplace_back("messages", text::jinja::parse_json(messages, "messages"));
  DY_CHECK_AS(ValueError, names.back().second.is_list(), "messages: it is not a list");
  names.emplace_back("tools", options.tools.empty() ? Value::none() : text::jinja::parse_json(options.tools, "tools"));
  names.emplace_back("documents", Value::none());
  names.emplace_back("add_generation_prompt", options.add_generation_prompt);
  if (!options.variables.empty()) {
    const Value more = text::jinja::parse_json(options.variables, "variables");
    DY_CHECK_AS(ValueError, more.is_dict(), "variables: it is not an object");
    names.insert(names.end(), more.dict->begin(), more.dict->end());
  }
  return other ? text::jinja::Template(options.chat_template).render(names, options.now)
               : state_->chat_template->render(names, options.now);
}

// Whether every text gets it.
static bool is_written_before(const text::TokenizerState& s, int64_t id) {
  return std::ranges::find(s.frame.before, id) != s.frame.before.end();
}

std::vector<int64_t> Tokenizer::encode_prompt(std::string_view text) const {
  std::vector<int64_t> ids = encode(text);
  const auto bos = bos_id();
  if (bos && is_written_before(*state_, *bos) && ids.size() > 1 && ids[0] == *bos && ids[1] == *bos) ids.erase(ids.begin());
  return ids;
}

std::vector<int64_t> Tokenizer::encode_chat(std::string_view messages, const ChatOptions& options) const {
  std::vector<int64_t> ids = encode(apply_chat_template(messages, options), false);
  const auto bos = bos_id();
  if (!bos) return ids;
  // Templates write it or leave it to the tokenizer, and some do both.
  const size_t there = size_t(std::find_if(ids.begin(), ids.end(), [&](int64_t id) { return id != *bos; }) - ids.begin());
  if (there > 1) ids.erase(ids.begin(), ids.begin() + std::ptrdiff_t(there) - 1);
  if (there == 0 && is_written_before(*state_, *bos)) ids.insert(ids.begin(), *bos);
  return ids;
}

}  // namespace dyadic::inline v1
