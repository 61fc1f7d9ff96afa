// Questions with choices, scored by how likely each choice is after its context.
#include <algorithm>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "dyadic/eval.h"
#include "io/bad_file.h"
#include "models/config.h"
#include "models/mean.h"
#include "models/scores.h"
#include "models/vocabulary.h"

namespace dyadic::inline v1::models {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t'; }

int64_t characters(std::string_view s) {
  return std::ranges::count_if(s, [](char c) { return (uint8_t(c) & 0xc0) != 0x80; });
}

// The sum of a choice's log-probabilities. Blanks at the context's end are a part of the choice: tokens begin with them.
double score(CausalLM& m, const Tokenizer& t, std::string context, std::string choice) {
  if (!context.empty() && !is_blank(context.back()) && !choice.empty() && !is_blank(choice[0])) choice.insert(0, " ");
  const size_t end = context.find_last_not_of(" \n\t") + 1;
  choice.insert(0, context.substr(end)), context.resize(end);
  std::vector<int64_t> ids = t.encode(context + choice);
  auto from = int64_t(t.encode(context).size());
  if (from == 0) {  // something is to come first
    const auto first = t.bos_id() ? t.bos_id() : t.eos_id();
    DY_CHECK_AS(ValueError, first, "multiple_choice: a context is empty, and the tokenizer has no token to begin with");
    ids.insert(ids.begin(), *first), from = 1;
  }
  const int64_t most = m.most_tokens(), over = most > 0 ? std::max<int64_t>(int64_t(ids.size()) - most, 0) : 0;
  DY_CHECK_AS(ValueError, over < from, "multiple_choice: a choice of {} tokens, and the model reads {}",
              int64_t(ids.size()) - from, most);
  ids.erase(ids.begin(), ids.begin() + over), from -= over;
  check_ids("multiple_choice", m, t, ids);
  double sum = 0;
  for_scores(m, m.kv, ids, from, [&](const Tensor& rows, int64_t first) {
    const Tensor at = values_at(rows, std::span(ids).subspan(size_t(first), size_t(rows.size(0)))).contiguous();
    for (int64_t i = 0; i < at.numel(); ++i) sum += double(at.data<float>()[i]);
  });
  return sum;
}

}  // namespace

std::vector<Question> read_questions(std::string_view text, const std::string& name) {
  std::vector<Question> all;
  int64_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (line.find_first_not_of(" \r\t") == line.npos) continue;
    const json j = bounded_json(line);
    const auto refuse = [&](const char* why) { io::bad(name, "line {}: {}", number, why); };
    if (!j.is_object() || !j.contains("context") || !j["context"].is_string() || !j.contains("choices") ||
        !j["choices"].is_array() || !j.contains("answer") || !j["answer"].is_number_integer())
      refuse("expected {\"context\": TEXT, \"choices\": [TEXT, ...], \"answer\": NUMBER}");
    Question q{j["context"].get<std::string>(), {}, j["answer"].get<int64_t>()};
    for (const json& c : j["choices"]) {
      if (!c.is_string() || c.get_ref<const std::string&>().empty()) refuse("a choice is no text, or an empty one");
      q.choices.push_back(c.get<std::string>());
    }
    if (q.answer < 0 || q.answer >= int64_t(q.choices.size())) refuse("the answer is the number of none of the choices");
    all.push_back(std::move(q));
  }
  if (all.empty()) io::bad(name, "there is no question in it");
  return all;
}

TaskScore multiple_choice(CausalLM& m, const Tokenizer& tokenizer, const std::vector<Question>& questions,
                          bool (*progress)(void* context, int64_t done, int64_t questions), void* context) {
  TaskScore s{};
  Mean right, right_norm;
  for (const Question& q : questions) {
    if (progress && !progress(context, s.questions, int64_t(questions.size()))) break;
    std::vector<double> sums, normed;
    for (const std::string& choice : q.choices) {
      sums.push_back(score(m, tokenizer, q.context, choice));
      normed.push_back(sums.back() / double(std::max<int64_t>(characters(choice), 1)));
    }
    right.add(std::ranges::max_element(sums) - sums.begin() == q.answer);
    right_norm.add(std::ranges::max_element(normed) - normed.begin() == q.answer);
    s.log_probabilities.push_back(std::move(sums)), ++s.questions;
  }
  if (s.questions == 0) return s;
  s.acc = right.value(), s.acc_norm = right_norm.value();
  s.acc_stderr = right.standard_error(), s.acc_norm_stderr = right_norm.standard_error();
  return s;
}

}  // namespace dyadic::inline v1::models
