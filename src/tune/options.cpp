// Words of the command line and of Python.
#include <charconv>

#include "base/check.h"
#include "base/text.h"
#include "dyadic/finetune.h"

namespace dyadic::inline v1::tune {
namespace {

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

double number(const std::string& name, const std::string& text) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  DY_CHECK_AS(ValueError, error == std::errc() && end == text.data() + text.size() && !text.empty(),
              "lora: {} is no number: {}={}", name, name, text);
  return v;
}

}  // namespace

models::LoraConfig parse_lora(std::string_view text) {
  models::LoraConfig c;
  std::optional<double> alpha;
  const std::vector<std::string> known = {"rank", "alpha", "targets", "dropout", "rslora", "dora"};
  for (const std::string& word : split(text, ',')) {
    const size_t at = word.find('=');
    const std::string name = word.substr(0, at), value = at == word.npos ? "" : word.substr(at + 1);
    if (name == "rank")
      c.r = int64_t(number(name, value));
    else if (name == "alpha")
      alpha = number(name, value);
    else if (name == "targets")
      c.target_modules = split(value, '+');
    else if (name == "dropout")
      c.lora_dropout = number(name, value);
    else if (word == "rslora")
      c.use_rslora = true;
    else if (word == "dora")
      c.use_dora = true;
    else
      throw ValueError(fmt::format(
          "lora: {} is none of its words: rank=16,alpha=32,targets=q_proj+v_proj,dropout=0.05,rslora,dora; did you mean {}?",
          word, nearest(name, known)));
  }
  DY_CHECK_AS(ValueError, c.r >= 1, "lora: rank is {}, below 1", c.r);
  c.lora_alpha = alpha.value_or(2 * double(c.r));
  return c;
}

static constexpr const char* kMerges[] = {"none", "best", "dequantized", "original", "requantized"};
const char* merge_name(Merge m) { return kMerges[int(m)]; }
Merge parse_merge(std::string_view word) {
  for (int i = 0; i < 5; ++i)
    if (word == kMerges[i]) return Merge(i);
  throw ValueError(fmt::format("{} is none of none, best, dequantized, original and requantized", word));
}

}  // namespace dyadic::inline v1::tune
