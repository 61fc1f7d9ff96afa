// Samples from lines of JSON.
#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "io/bad_file.h"
#include "tune/chat.h"

namespace dyadic::inline v1::tune {
namespace {

using Json = nlohmann::ordered_json;

class Reader {
  const Tokenizer& tokenizer_;
  const SampleOptions& o_;
  Samples out_;

 public:
  Reader(const Tokenizer& tokenizer, const SampleOptions& o) : tokenizer_(tokenizer), o_(o) {}
  // ValueError without the line's number.
  void line(std::string_view text) {
    const Json j = bounded_json<Json>(text, 64);
    DY_CHECK_AS(ValueError, !j.is_discarded(), "it is no JSON");
    if (j.is_object() && j.contains("messages"))
      chat(j);
    else if (is_text(j, "prompt") && is_text(j, "completion"))
      completion(j["prompt"].get<std::string>(), j["completion"].get<std::string>());
    else if (is_text(j, "text"))
      whole(j["text"].get<std::string>());
    else
      fail<ValueError>(R"(expected {{"messages": [...]}}, {{"prompt": TEXT, "completion": TEXT}} or {{"text": TEXT}})");
  }
  Samples take() { return std::move(out_); }

 private:
  static bool is_text(const Json& j, const char* key) { return j.is_object() && j.contains(key) && j[key].is_string(); }
  void chat(const Json& j) {
    DY_CHECK_AS(ValueError, tokenizer_.has_chat_template(),
                "a chat needs a chat template, and the tokenizer has none: put chat_template.jinja beside tokenizer.json, or "
                "give lines of \"prompt\" and \"completion\"");
    const Json& messages = j["messages"];
    DY_CHECK_AS(ValueError, messages.is_array() && !messages.empty(), "messages: it is no list of messages");
    for (const Json& m : messages)
      DY_CHECK_AS(ValueError, is_text(m, "role"), "a message has no \"role\": {}", dump_json(m).substr(0, 60));
    std::vector<Sample> samples = chat_samples(j, tokenizer_);
    out_.split += samples.size() > 1;
    for (Sample& s : samples) add(std::move(s));
  }
  void completion(const std::string& prompt, const std::string& text) {
    const std::vector<int64_t> asked = tokenizer_.encode(prompt);
    Sample s{tokenizer_.encode(prompt + text), {}};
    finish(s);
    const size_t begin = common_prefix(asked, s.ids);
    DY_CHECK_AS(ValueError, begin < s.ids.size(), "the completion has no token");
    s.learned.assign(s.ids.size(), true);
    std::fill(s.learned.begin(), s.learned.begin() + std::ptrdiff_t(begin), false);
    add(std::move(s));
  }
  void whole(const std::string& text) {
    Sample s{tokenizer_.encode(text), {}};
    finish(s);
    const auto context = size_t(o_.context);
    for (size_t at = 0; at + 1 < s.ids.size(); at += context) {
      const size_t end = std::min(at + context, s.ids.size());
      Sample piece{{s.ids.begin() + std::ptrdiff_t(at), s.ids.begin() + std::ptrdiff_t(end)}, {}};
      piece.learned.assign(piece.ids.size(), true);
      add(std::move(piece));
    }
  }
  // Encoded texts end as the tokenizer's frame says; once with its EOS.
  void finish(Sample& s) const {
    if (const auto eos = tokenizer_.eos_id(); eos && (s.ids.empty() || s.ids.back() != *eos)) s.ids.push_back(*eos);
  }
  void add(Sample s) {
    const auto context = size_t(o_.context);
    if (!s.learned.empty()) s.learned[0] = false;
    if (s.ids.size() > context) {
      DY_CHECK_AS(ValueError, o_.too_long != TooLong::refuse,
                  "it has {} tokens, and a row {}: raise the context, or let longer ones be cut or dropped", s.ids.size(),
                  context);
      const bool of_use = o_.too_long == TooLong::cut &&
                          std::find(s.learned.begin(), s.learned.begin() + o_.context, true) != s.learned.begin() + o_.context;
      if (!of_use) {
        ++out_.dropped;
        return;
      }
      ++out_.cut;
      s.ids.resize(context), s.learned.resize(context);
    }
    if (std::find(s.learned.begin(), s.learned.end(), true) != s.learned.end()) out_.all.push_back(std::move(s));
  }
};

}  // namespace

TooLong parse_too_long(std::string_view word) {
  for (auto [name, value] :
       {std::pair("cut", TooLong::cut), std::pair("drop", TooLong::drop), std::pair("refuse", TooLong::refuse)})
    if (word == name) return value;
  throw ValueError(fmt::format("{} is none of cut, drop and refuse", word));
}

int64_t Samples::tokens() const {
  int64_t n = 0;
  for (const Sample& s : all) n += int64_t(s.ids.size());
  return n;
}
int64_t Samples::learned() const {
  int64_t n = 0;
  for (const Sample& s : all) n += std::count(s.learned.begin(), s.learned.end(), true);
  return n;
}

Samples read_samples(std::string_view jsonl, const std::string& name, const Tokenizer& tokenizer, const SampleOptions& o) {
  DY_CHECK_AS(ValueError, o.context >= 2, "read_samples: context is {}, below 2", o.context);
  Reader reader(tokenizer, o);
  int64_t number = 0;
  for (const std::string_view line : lines_of(jsonl)) {
    ++number;
    if (line.find_first_not_of(" \r\t") == line.npos) continue;
    try {
      reader.line(line);
    } catch (const ValueError& e) { io::bad(name, "line {}: {}", number, e.what()); }
  }
  Samples all = reader.take();
  if (all.all.empty() && all.dropped > 0)
    io::bad(name, "all {} samples are longer than {} tokens: raise the context", all.dropped, o.context);
  if (all.all.empty()) io::bad(name, "there is nothing to learn in it");
  return all;
}

Data read_data(const std::string& path) {
  std::string text = io::read_text(path);
  const bool lines = path.ends_with(".jsonl") || path.ends_with(".json");
  return {lines ? std::move(text) : dump_json(Json{{"text", text}}, -1, NotUtf8::replaced), path};
}

}  // namespace dyadic::inline v1::tune
