// Text around generation: rows of prompts, text as it comes, and why it ended.
#include "dyadic/text_generation.h"

#include <algorithm>
#include <chrono>

#include "base/json.h"
#include "models/config.h"
#include "models/generation.h"
#include "models/row_text.h"
#include "models/sampling.h"
#include "models/vocabulary.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::models {
namespace {

using Clock = std::chrono::steady_clock;

class TextRows : public Streamer {
  const TextOptions& o_;
  std::vector<int64_t> ends_;
  Clock::time_point first_, last_;
  int64_t steps_ = 0;
  bool enough_ = false;
  std::vector<GeneratedText> made_;
  std::vector<RowText> texts_;

 public:
  TextRows(size_t n, const Tokenizer& t, const TextOptions& o, std::vector<int64_t> ends)
      : o_(o), ends_(std::move(ends)), made_(n), texts_(n, RowText(t, o.generate.stop_strings)) {}
  bool put(std::span<const int64_t> tokens) override {
    last_ = Clock::now();
    if (steps_++ == 0) first_ = last_;
    for (size_t i = 0; i < made_.size(); ++i) {
      if (done(i)) continue;
      made_[i].tokens.push_back(tokens[i]);
      tell(i, texts_[i].push(tokens[i]));
      if (texts_[i].stopped() || std::ranges::find(ends_, tokens[i]) != ends_.end()) end(i, "stop");
    }
    return !enough_ && !std::ranges::all_of(made_, [](const GeneratedText& r) { return !r.finish_reason.empty(); });
  }
  std::vector<GeneratedText> finish(Clock::time_point begin, int64_t most) {
    const double seconds = std::chrono::duration<double>(last_ - (steps_ > 1 ? first_ : begin)).count();
    const auto counted = double((steps_ > 1 ? steps_ - 1 : steps_) * int64_t(made_.size()));
    for (size_t i = 0; i < made_.size(); ++i) {
      if (!done(i)) end(i, steps_ >= most ? "length" : "interrupted");
      made_[i].text = texts_[i].text;
      made_[i].tokens_per_s = seconds > 0 ? counted / seconds : 0;
    }
    return std::move(made_);
  }

 private:
  bool done(size_t row) const { return !made_[row].finish_reason.empty(); }
  void end(size_t row, const char* reason) {
    tell(row, texts_[row].finish());
    made_[row].finish_reason = texts_[row].stopped() ? "stop" : reason;
  }
  void tell(size_t row, std::string_view text) {
    if (!text.empty() && o_.on_text && !enough_) enough_ = !o_.on_text(o_.context, row, text);
  }
};

}  // namespace

std::vector<GeneratedText> generate_text(CausalLM& m, const Tokenizer& tokenizer,
                                         const std::vector<std::vector<int64_t>>& prompts, const TextOptions& options) {
  if (prompts.empty()) return {};
  GenerateOptions o = options.generate;
  if (!o.eos_token_id) {
    o.eos_token_id = m.eos_token_ids();
    if (const auto end = tokenizer.eos_id(); end && std::ranges::find(*o.eos_token_id, *end) == o.eos_token_id->end())
      o.eos_token_id->push_back(*end);
  }
  size_t longest = 0;
  for (const auto& p : prompts) {
    DY_CHECK_AS(ValueError, !p.empty(), "generate: a prompt has no token: there is no beginning to go on from");
    check_ids("generate", m, tokenizer, p);
    longest = std::max(longest, p.size());
  }
  std::vector<int64_t> ids, mask;
  for (const auto& p : prompts) {
    ids.insert(ids.end(), longest - p.size(), p[0]);
    ids.insert(ids.end(), p.begin(), p.end());
    mask.insert(mask.end(), longest - p.size(), 0);
    mask.insert(mask.end(), p.size(), 1);
  }
  const std::vector<int64_t> shape{int64_t(prompts.size()), int64_t(longest)};
  if (std::ranges::find(mask, 0) != mask.end()) o.attention_mask = from_data(mask.data(), shape, i64);
  TextRows rows(prompts.size(), tokenizer, options, *o.eos_token_id);
  o.streamer = &rows, o.tokenizer = &tokenizer;
  check(o);
  o.stop_strings.clear();  // the rows find them
  std::optional<Cache> own;
  if (!o.cache) o.cache = &own.emplace(make_cache(m, int64_t(longest), o)), o.kv.reset();
  const auto begin = Clock::now();
  m.generate(from_data(ids.data(), shape, i64), o);
  const int64_t most = m.most_tokens() > 0 ? std::max<int64_t>(m.most_tokens() - int64_t(longest) + 1, 0) : o.max_new_tokens;
  std::vector<GeneratedText> all = rows.finish(begin, std::min(o.max_new_tokens, most));
  for (size_t i = 0; i < all.size(); ++i)
    all[i].prompt_tokens = int64_t(prompts[i].size()), all[i].cache_bytes = o.cache->nbytes();
  return all;
}

GeneratedText generate_text(CausalLM& m, const Tokenizer& tokenizer, std::string_view prompt, const TextOptions& options) {
  return generate_text(m, tokenizer, std::vector<std::vector<int64_t>>{tokenizer.encode_prompt(prompt)}, options)[0];
}

GenerateOptions advised_options(const CausalLM& m, GenerateOptions o) {
  const json c = bounded_json(m.generation_config);
  if (!c.is_object()) return o;
  const auto number = [&](const char* key, auto& to) {
    if (c.contains(key) && c[key].is_number()) to = c[key].get<std::decay_t<decltype(to)>>();
  };
  if (c.contains("do_sample") && c["do_sample"].is_boolean()) o.do_sample = c["do_sample"].get<bool>();
  number("temperature", o.temperature), number("top_k", o.top_k), number("top_p", o.top_p), number("min_p", o.min_p);
  number("repetition_penalty", o.repetition_penalty);
  return o;
}

}  // namespace dyadic::inline v1::models
