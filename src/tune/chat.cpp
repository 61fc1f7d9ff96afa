// Which tokens of a chat are the assistant's. Templates say nothing of it, so the chat is written once up to each answer, with
// the words that ask for it, and once with it: what the second has beyond the first is the answer. That is what the model is
// asked for when it talks.
#include "tune/chat.h"

#include <algorithm>

#include "base/check.h"
#include "base/json.h"

namespace dyadic::inline v1::tune {
namespace {

using Json = nlohmann::ordered_json;

struct Answer {
  std::vector<int64_t> ids;   // of the chat up to its end
  size_t begin = 0, end = 0;  // its tokens among them
};

class Writer {
  const Json& messages_;
  const Tokenizer& tokenizer_;
  ChatOptions options_;

 public:
  Writer(const Json& chat, const Tokenizer& tokenizer) : messages_(chat.at("messages")), tokenizer_(tokenizer) {
    if (chat.contains("tools") && !chat["tools"].is_null()) options_.tools = dump_json(chat["tools"]);
  }
  std::vector<int64_t> first(size_t messages, bool asking = false) {
    options_.add_generation_prompt = asking;
    return tokenizer_.encode_chat(dump_json(Json(messages_.begin(), messages_.begin() + std::ptrdiff_t(messages))), options_);
  }
  Answer answer(size_t message) {
    Answer a{first(message + 1)};
    a.begin = common_prefix(first(message, true), a.ids), a.end = end_of(a);
    DY_CHECK_AS(ValueError, a.begin < a.end, "the chat template leaves out what message {} says", message + 1);
    return a;
  }

 private:
  // What stands after the token that ends the answer (a line break) is nothing that the model says.
  size_t end_of(const Answer& a) const {
    size_t end = a.ids.size();
    while (end > a.begin && !tokenizer_.is_special(a.ids[end - 1])) {
      const std::string text = tokenizer_.decode({a.ids[end - 1]});
      if (text.find_first_not_of(" \n\r\t") != text.npos) return a.ids.size();
      --end;
    }
    return end > a.begin ? end : a.ids.size();
  }
};

// Whether what stands up to the answer's end is the same in the whole chat.
bool is_within(const Answer& a, const std::vector<int64_t>& whole) {
  return a.end <= whole.size() && std::equal(a.ids.begin(), a.ids.begin() + std::ptrdiff_t(a.end), whole.begin());
}

void learn(Sample& s, const Answer& a) {
  std::fill(s.learned.begin() + std::ptrdiff_t(a.begin), s.learned.begin() + std::ptrdiff_t(a.end), true);
}

}  // namespace

size_t common_prefix(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return size_t(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

std::vector<Sample> chat_samples(const Json& chat, const Tokenizer& tokenizer) {
  const Json& messages = chat.at("messages");
  Writer writer(chat, tokenizer);
  std::vector<Answer> answers;
  size_t end = 0;  // of the last answer: nothing after it is learned
  for (size_t i = 0; i < messages.size(); ++i)
    if (messages[i].value("role", "") == "assistant") answers.push_back(writer.answer(i)), end = i + 1;
  DY_CHECK_AS(ValueError, !answers.empty(), "there is no answer in the chat: no message has the role \"assistant\"");
  const std::vector<int64_t> whole = writer.first(end);
  std::vector<Sample> samples;
  if (std::ranges::all_of(answers, [&](const Answer& a) { return is_within(a, whole); })) {
    Sample& s = samples.emplace_back(Sample{whole, std::vector<bool>(whole.size())});
    for (const Answer& a : answers) learn(s, a);
    s.ids.resize(answers.back().end), s.learned.resize(answers.back().end);
    return samples;
  }
  for (Answer& a : answers) {
    Sample& s = samples.emplace_back(Sample{a.ids, std::vector<bool>(a.ids.size())});
    learn(s, a);
    s.ids.resize(a.end), s.learned.resize(a.end);
  }
  return samples;
}

}  // namespace dyadic::inline v1::tune
