#include "models/gguf/names.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace dyadic::inline v1::models {
namespace {

// A number at the beginning of a text, which it is taken from, with what follows it.
std::optional<int64_t> take_number(std::string_view& text, std::string_view then) {
  int64_t n = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  const std::string_view rest = text.substr(size_t(end - text.data()));
  if (error != std::errc() || n < 0 || !rest.starts_with(then)) return {};
  text = rest.substr(then.size());
  return n;
}
bool take(std::string_view& text, std::string_view beginning) {
  if (!text.starts_with(beginning)) return false;
  text.remove_prefix(beginning.size());
  return true;
}

// A module's name fits one with a *: the number in its place, -1 where there is none.
std::optional<int64_t> fits(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) return pattern == name ? std::optional<int64_t>(-1) : std::nullopt;
  if (!take(name, pattern.substr(0, star))) return {};
  const auto number = take_number(name, pattern.substr(star + 1));
  return name.empty() ? number : std::nullopt;
}

struct Ending {
  const char *gguf, *own;
};
std::array<Ending, 2> endings(const TensorName& n) { return {{{".weight", n.weight}, {".bias", n.bias}}}; }

std::optional<Named> find_own(const Architecture& a, std::string_view name) {
  std::string_view rest = name;
  std::string before_own, before_gguf;
  const std::vector<TensorName>* list = &a.whole;
  if (take(rest, a.layers)) {
    const auto layer = take_number(rest, ".");
    if (!layer) return {};
    list = &a.layer;
    before_own = fmt::format("{}{}.", a.layers, *layer), before_gguf = fmt::format("blk.{}.", *layer);
  }
  for (const TensorName& n : *list)
    for (const Ending& e : endings(n)) {
      if (!e.own) continue;
      if (const auto expert = fits(std::string(n.own) + e.own, rest))
        return Named{&n, before_own + n.own + e.own, before_gguf + n.gguf + e.gguf, *expert};
    }
  return {};
}

}  // namespace

std::optional<Named> of_gguf(const Architecture& a, std::string_view name) {
  std::string_view rest = name;
  std::string before;
  const std::vector<TensorName>* list = &a.whole;
  if (take(rest, "blk.")) {
    const auto layer = take_number(rest, ".");
    if (!layer) return {};
    list = &a.layer;
    before = fmt::format("{}{}.", a.layers, *layer);
  }
  for (const TensorName& n : *list)
    for (const Ending& e : endings(n)) {
      if (!e.own) continue;
      const bool second = n.pair && rest == std::string(n.pair) + e.gguf;
      if (second || rest == std::string(n.gguf) + e.gguf)
        return Named{&n, before + n.own + e.own, std::string(name), -1, second};
    }
  return {};
}

std::optional<Named> of_own(const Architecture& a, std::string_view name) {
  const std::string body(a.layers, std::string_view(a.layers).find('.') + 1);  // "model."
  std::string_view rest = name;
  std::string plain(name);
  if (take(rest, "model.language_model."))
    plain = body + std::string(rest);
  else if (take(rest, "language_model."))
    plain = rest;
  if (auto found = find_own(a, plain)) return found;
  return find_own(a, body + plain);
}

}  // namespace dyadic::inline v1::models
