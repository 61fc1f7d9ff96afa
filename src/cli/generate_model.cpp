// dyadic generate with language models: one prompt, a file of them, or a chat.
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <iostream>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/generate.h"
#include "cli/json.h"
#include "cli/on_disk.h"
#include "dyadic/interrupt.h"
#include "dyadic/model_files.h"
#include "dyadic/text_generation.h"
#include "io/bad_file.h"

namespace dyadic::inline v1::cli {
namespace {

using models::GeneratedText;
constexpr size_t kRowsTogether = 8;  // of a batch that are computed together

int64_t token_of(const Tokenizer& t, const std::string& word) {
  if (const auto id = t.token_to_id(word)) return *id;
  int64_t id = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
  const bool number = error == std::errc() && end == word.data() + word.size() && id >= 0 && id < t.vocab_size();
  if (!number) throw UsageError(fmt::format("generate: --eos: the tokenizer has no token {}", io::quote_name(word)));
  return id;
}

models::TextOptions text_options(const GenerateCommand& o, const models::CausalLM& m, const Tokenizer& t) {
  models::GenerateOptions g = models::advised_options(m, {.do_sample = true});
  if (o.temperature) g.do_sample = *o.temperature > 0, g.temperature = *o.temperature;
  if (!g.do_sample) g.temperature = 1;
  g.top_k = o.top_k.value_or(g.top_k), g.top_p = o.top_p.value_or(g.top_p), g.min_p = o.min_p.value_or(g.min_p);
  g.repetition_penalty = o.repetition_penalty.value_or(g.repetition_penalty);
  if (!o.kv.empty()) g.kv = models::KvFormats::parse(o.kv);
  g.max_new_tokens = o.tokens, g.seed = o.seed, g.stop_strings = o.stop;
  if (o.eos == std::vector<std::string>{"none"}) {
    g.eos_token_id.emplace();
  } else if (!o.eos.empty()) {
    g.eos_token_id.emplace();
    for (const std::string& word : o.eos) g.eos_token_id->push_back(token_of(t, word));
  }
  return {.generate = std::move(g)};
}

Json row_of(const GeneratedText& r) {
  return {{"text", r.text},
          {"tokens", r.tokens},
          {"finish_reason", r.finish_reason},
          {"prompt_tokens", r.prompt_tokens},
          {"tokens_per_s", r.tokens_per_s},
          {"kv_cache_bytes", r.cache_bytes}};
}

bool show(void*, size_t, std::string_view text) {
  print(text);
  return true;
}
// For whoever watches: how fast it was, and why it ended. Not among the results.
void remark(const GeneratedText& r) {
  if (!isatty(STDERR_FILENO)) return;
  std::fprintf(stderr, "[%zu tokens, %.1f tokens/s, %s; KV cache: %s]\n", r.tokens.size(), r.tokens_per_s,
               r.finish_reason.c_str(), human_bytes(r.cache_bytes).c_str());
}

std::vector<Json> batch_lines(const GenerateCommand& o) {
  const std::string text = io::read_text(o.batch);
  std::vector<Json> lines;
  int64_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (line.empty()) continue;
    Json j = o.batch.ends_with(".jsonl") ? bounded_json<Json>(line, 100) : Json{{"prompt", line}};
    const bool fits =
        j.is_object() && (j.contains("messages") ? j["messages"].is_array() : j.contains("prompt") && j["prompt"].is_string());
    if (!fits) io::bad(o.batch, "line {}: expected {{\"prompt\": TEXT}} or {{\"messages\": [...]}}", number);
    lines.push_back(std::move(j));
  }
  return lines;
}

// Tokens of a line's prompt.
std::vector<int64_t> ids_of(const Tokenizer& tokenizer, const Json& line) {
  return line.contains("messages") ? tokenizer.encode_chat(dump_json(line["messages"]), {.add_generation_prompt = true})
                                   : tokenizer.encode_prompt(line["prompt"].get<std::string>());
}

// With a limit of memory: what does not fit beside the longest text stays on disk. A chat is as long as the model reads, at
// most the planner's usual context.
models::Model load(const GenerateCommand& o, const Tokenizer& tokenizer) {
  const models::LoadOptions load{.dtype = o.format.empty() ? DType() : DType::parse(o.format),
                                 .offload_folder = o.offload_folder};
  return load_within_limit(load, o.model, "for every token", [&](models::CausalLM& m, int64_t limit, int64_t loading) {
    tune::ModelPlanOptions plan;
    if (!o.kv.empty()) plan.kv = models::KvFormats::parse(o.kv);
    if (!o.chat) {
      size_t longest = 1;
      const std::vector<Json> lines = o.batch.empty() ? std::vector<Json>{{{"prompt", o.prompt}}} : batch_lines(o);
      for (const Json& line : lines) longest = std::max(longest, ids_of(tokenizer, line).size());
      plan.context = int64_t(longest) + o.tokens, plan.batch = int64_t(std::clamp<size_t>(lines.size(), 1, kRowsTogether));
    }
    return tune::place(m, tune::plan_generation(m, plan).peak, limit, loading);
  });
}

class Session {
  const GenerateCommand& o_;
  const Common& common_;
  const Tokenizer tokenizer_;
  models::Model model_;
  models::TextOptions options_;

 public:
  Session(const GenerateCommand& o, const Common& common)
      : o_(o),
        common_(common),
        tokenizer_(Tokenizer::load(o.model)),
        model_(load(o, tokenizer_)),
        options_(text_options(o, *model_, tokenizer_)) {
    if (!common.json) options_.on_text = show;
  }

  int one() {
    std::vector<int64_t> ids = tokenizer_.encode_prompt(o_.prompt);
    if (ids.empty()) ids = beginning();
    if (!common_.json) print(o_.prompt);
    const GeneratedText r = models::generate_text(*model_, tokenizer_, std::vector<std::vector<int64_t>>{ids}, options_)[0];
    if (common_.json) {
      Json j = {{"model", o_.model}, {"prompt", o_.prompt}};
      j.update(row_of(r)), j["seed"] = o_.seed;
      print(json_text(j));
    } else {
      print("\n");
      remark(r);
    }
    return interrupted() ? kInterrupted : kDone;
  }

  int batch() {
    std::vector<std::vector<int64_t>> prompts;
    const std::vector<Json> lines = batch_lines(o_);
    for (const Json& line : lines) {
      prompts.push_back(ids_of(tokenizer_, line));
      if (prompts.back().empty()) prompts.back() = beginning();
    }
    options_.on_text = nullptr;
    Json rows = Json::array();
    for (size_t at = 0; at < prompts.size() && !interrupted(); at += kRowsTogether) {
      const std::vector some(prompts.begin() + std::ptrdiff_t(at),
                             prompts.begin() + std::ptrdiff_t(std::min(prompts.size(), at + kRowsTogether)));
      for (const GeneratedText& r : models::generate_text(*model_, tokenizer_, some, options_)) {
        Json row = lines[rows.size()];
        row.update(row_of(r));
        if (!common_.json) print(json_text(row, -1));
        rows.push_back(std::move(row));
      }
    }
    if (common_.json) print(json_text({{"model", o_.model}, {"seed", o_.seed}, {"results", rows}}));
    return interrupted() ? kInterrupted : kDone;
  }

  int chat() {
    models::Chat chat(*model_, tokenizer_, options_, o_.system);
    Json turns = Json::array();
    const bool asks = o_.prompt.empty() && isatty(STDIN_FILENO);
    if (asks && !common_.json) std::fprintf(stderr, "A message a line; Ctrl-C stops an answer, Ctrl-D ends the chat.\n");
    std::string line = o_.prompt;
    while (!o_.prompt.empty() ? turns.empty() : next_line(asks, line)) {
      if (line.empty()) continue;
      const GeneratedText r = chat.say(line);
      Json row = {{"message", line}};
      row.update(row_of(r));
      turns.push_back(std::move(row));
      if (!common_.json) print("\n"), remark(r);
      if (interrupted() && !asks) break;
      clear_interrupt();
    }
    if (common_.json) print(json_text({{"model", o_.model}, {"seed", o_.seed}, {"turns", turns}}));
    return interrupted() ? kInterrupted : kDone;
  }

 private:
  bool next_line(bool asks, std::string& line) {
    if (asks) std::fprintf(stderr, "> ");
    if (std::getline(std::cin, line)) return true;
    if (asks) std::fprintf(stderr, "\n");
    return false;
  }
  // Of a prompt of nothing: what texts begin with, or the token that ends them.
  std::vector<int64_t> beginning() const {
    if (const auto bos = tokenizer_.bos_id()) return {*bos};
    if (const auto eos = tokenizer_.eos_id()) return {*eos};
    throw UsageError("generate: the tokenizer has no token that texts begin with; give a --prompt");
  }
};

}  // namespace

bool is_language_model(const std::string& path) { return models::is_model(path); }

int generate_language_model(const GenerateCommand& o, const Common& common) {
  install_interrupt_handler();
  Session session(o, common);
  return o.chat ? session.chat() : !o.batch.empty() ? session.batch() : session.one();
}

}  // namespace dyadic::inline v1::cli
