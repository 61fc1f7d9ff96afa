// Calls of the op suite as calls in Python.
#include <fmt/format.h>

#include <cctype>

#include "base/text.h"
#include "cli/reference.h"

namespace dyadic::inline v1::cli {
namespace {

// What stands between commas that are in no bracket and no quotes.
std::vector<std::string_view> arguments(std::string_view text) {
  std::vector<std::string_view> all;
  int depth = 0;
  bool quoted = false;
  size_t from = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    quoted ^= c == '\'';
    depth += !quoted && (c == '(' || c == '[');
    depth -= !quoted && (c == ')' || c == ']');
    if (i < text.size() && (c != ',' || depth || quoted)) continue;
    std::string_view one = text.substr(from, i - from);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (!one.empty()) all.push_back(one);
    from = i + 1;
  }
  return all;
}

std::string tensor(std::string_view maker, std::string_view inside) {
  const size_t semicolon = std::min(inside.find(';'), inside.size());
  const std::string_view before = inside.substr(0, semicolon);
  std::string_view after = inside.substr(std::min(semicolon + 1, inside.size()));
  after.remove_prefix(std::min(after.find_first_not_of(' '), after.size()));
  if (maker == "indices")
    return fmt::format("dyadic.randint({}{}, [{}])", before == "1" ? "" : "1, ", before, after);  // pivots count from 1
  const std::string shape = before.empty() ? "[]" : std::string(before);
  if (maker == "spd") {  // the simplest of them
    const std::string_view n = before.substr(before.rfind(' ') + 1);
    return fmt::format("dyadic.eye({}){}", n, arguments(before).size() > 2 ? fmt::format(".expand({})", before) : "");
  }
  if (maker == "mask") return fmt::format("dyadic.rand({}) < 0.5", shape);
  if (after == "complex") return fmt::format("dyadic.randn({}, dtype=dyadic.complex64)", shape);
  return fmt::format("dyadic.{}({})", maker == "steps" ? "randn" : maker, shape);
}

std::string value(std::string_view text) {
  if (text.starts_with('[')) {
    std::vector<std::string> inner;
    for (std::string_view one : arguments(text.substr(1, text.size() - 2))) inner.push_back(value(one));
    return "[" + join(inner, ", ") + "]";
  }
  if (const size_t open = text.find('('); open != text.npos && text.front() != '\'')
    return tensor(text.substr(0, open), text.substr(open + 1, text.size() - open - 2));
  const bool word =
      std::isalpha(static_cast<unsigned char>(text.front())) && text != "None" && text != "True" && text != "False";
  return word ? fmt::format("'{}'", text) : std::string(text);  // a dtype or device by its name
}

}  // namespace

std::string python_example(std::string_view sample, const Signature& signature, std::string_view spelling) {
  const size_t open = sample.find('(');
  std::vector<std::string> words;
  for (std::string_view one : arguments(sample.substr(open + 1, sample.size() - open - 2))) {
    const Parameter& p = signature.parameters[words.size()];
    words.push_back((p.keyword_only ? p.name + "=" : "") + value(one));
  }
  return fmt::format("dyadic.{}({})", spelling, join(words, ", "));
}

}  // namespace dyadic::inline v1::cli
