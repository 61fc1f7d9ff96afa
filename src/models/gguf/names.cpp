#include "models/gguf/names.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <set>

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
std::array<Ending, 2> endings(const TensorName& n) {
  if (n.complete) return {{{"", ""}, {"", nullptr}}};
  return {{{".weight", n.weight}, {".bias", n.bias}}};
}
const Form* form_of(const TensorName& n, const Ending& e) {
  return n.form && n.form->weight_only && std::string_view(e.gguf) == ".bias" ? nullptr : n.form;
}

std::optional<Named> find_own(const Architecture& a, std::string_view name) {
  std::string_view rest = name;
  std::string before_own, before_gguf;
  int64_t number = -1;
  const std::vector<TensorName>* list = &a.whole;
  if (take(rest, a.layers)) {
    const auto layer = take_number(rest, ".");
    if (!layer) return {};
    list = &a.layer;
    number = *layer;
    before_own = fmt::format("{}{}.", a.layers, *layer), before_gguf = fmt::format("blk.{}.", *layer);
  }
  std::set<std::string> seen;
  for (const TensorName& n : *list)
    for (const Ending& e : endings(n)) {
      if (!e.own) continue;
      const std::string stored = before_gguf + n.gguf + e.gguf;
      const bool last = !seen.insert(stored).second;
      if (const auto expert = fits(std::string(n.own) + e.own, rest))
        return Named{form_of(n, e), before_own + n.own + e.own,
                     stored,        n.pair ? before_gguf + n.pair + e.gguf : "",
                     number,        *expert,
                     false,         last};
    }
  return {};
}

}  // namespace

std::optional<Named> of_gguf(const Architecture& a, std::string_view name, bool last) {
  std::string_view rest = name;
  std::string before, block;
  int64_t number = -1;
  const std::vector<TensorName>* list = &a.whole;
  if (take(rest, "blk.")) {
    const auto layer = take_number(rest, ".");
    if (!layer) return {};
    list = &a.layer;
    number = *layer;
    before = fmt::format("{}{}.", a.layers, *layer), block = fmt::format("blk.{}.", *layer);
  }
  std::optional<Named> found;
  for (const TensorName& n : *list)
    for (const Ending& e : endings(n)) {
      if (!e.own || (found && !last)) continue;
      const bool second = n.pair && rest == std::string(n.pair) + e.gguf;
      if (second || rest == std::string(n.gguf) + e.gguf)
        found =
            Named{form_of(n, e), before + n.own + e.own, std::string(name), n.pair ? block + n.pair + e.gguf : "", number, -1,
                  second,        found.has_value()};
    }
  return found;
}

std::optional<Named> of_own(const Architecture& a, std::string_view name) {
  std::string plain(name);
  for (auto [then, now] : {std::pair(".gamma", ".weight"), std::pair(".beta", ".bias")})  // BERT's, in files of its time
    if (plain.ends_with(then)) plain.replace(plain.size() - std::string_view(then).size(), plain.npos, now);
  std::string_view rest = plain;
  const std::string body = a.body;
  if (take(rest, "model.language_model."))
    plain = body + std::string(rest);
  else if (take(rest, "language_model.") || take(rest, "bert."))
    plain = std::string(rest);
  if (auto found = find_own(a, plain)) return found;
  return find_own(a, body + plain);
}

}  // namespace dyadic::inline v1::models
