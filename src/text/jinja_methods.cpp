// Methods of texts, lists and dicts, as Python has them.
#include <algorithm>

#include "text/jinja_interpreter.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text::jinja {
namespace {

constexpr std::string_view kTextMethods[] = {
    "strip",   "lstrip", "rstrip",       "split",        "rsplit",  "startswith", "endswith",   "replace", "upper",
    "lower",   "title",  "join",         "capitalize",   "find",    "count",      "splitlines", "isdigit", "isspace",
    "isalpha", "index",  "removeprefix", "removesuffix", "isupper", "islower",    "rfind"};
constexpr std::string_view kDictMethods[] = {"get", "items", "keys", "values"};
constexpr std::string_view kListMethods[] = {"index", "count"};

bool any_of(const Value& v, const Args& args, const std::string& name, bool (*is)(std::string_view, std::string_view),
            std::string_view self) {
  if (v.is_text()) return is(self, *v.text);
  if (v.is_list())
    return std::any_of(v.list->begin(), v.list->end(), [&](const Value& e) { return e.is_text() && is(self, *e.text); });
  wrong(args.line, "{}: its argument is of type {}", name, kind_name(v));
}

List split(std::string_view s, const Value* by, int64_t most, bool from_right) {
  std::vector<std::string_view> parts;
  if (!by || by->kind == Kind::none) {
    // Runs of spaces separate, those at the ends do not count. From the right: the same on the text reversed, so it is cut from
    // there.
    const auto cut_left = [&] {
      while (!s.empty() && is_space(decode_utf8(s, 0).code)) s.remove_prefix(decode_utf8(s, 0).size);
    };
    const auto cut_right = [&] {
      while (!s.empty() && is_space(last_char(s).code)) s.remove_suffix(last_char(s).size);
    };
    for (;;) {
      from_right ? cut_right() : cut_left();
      if (s.empty()) break;
      if (most >= 0 && int64_t(parts.size()) == most) {
        from_right ? cut_left() : cut_right();
        parts.push_back(s);
        break;
      }
      size_t n = 0;
      const auto rest = [&] { return from_right ? s.substr(0, s.size() - n) : s.substr(n); };
      while (!rest().empty()) {
        const Char c = from_right ? last_char(rest()) : decode_utf8(rest(), 0);
        if (is_space(c.code)) break;
        n += c.size;
      }
      parts.push_back(from_right ? s.substr(s.size() - n) : s.substr(0, n));
      s = rest();
    }
  } else {
    const std::string& sign = *by->text;
    for (size_t at; most < 0 || int64_t(parts.size()) < most;) {
      at = from_right ? s.rfind(sign) : s.find(sign);
      if (at == s.npos) break;
      parts.push_back(from_right ? s.substr(at + sign.size()) : s.substr(0, at));
      s = from_right ? s.substr(0, at) : s.substr(at + sign.size());
    }
    parts.push_back(s);
  }
  if (from_right) std::reverse(parts.begin(), parts.end());
  List out;
  for (auto p : parts) out.emplace_back(std::string(p));
  return out;
}
List split_lines(std::string_view s) {
  List out;
  while (!s.empty()) {
    const size_t end = s.find_first_of("\n\r");
    out.emplace_back(std::string(s.substr(0, end)));
    if (end == s.npos) break;
    s.remove_prefix(end + (s.substr(end).starts_with("\r\n") ? 2 : 1));
  }
  return out;
}
template <class Is> bool all_chars(std::string_view s, Is is) {
  for (size_t i = 0; i < s.size();) {
    const Char c = decode_utf8(s, i);
    if (!is(c.code)) return false;
    i += c.size;
  }
  return !s.empty();
}

}  // namespace

std::string stripped(std::string_view s, const Value* chars, bool left, bool right) {
  const std::string_view set = chars && chars->is_text() ? std::string_view(*chars->text) : std::string_view();
  const bool spaces = !chars || !chars->is_text();
  const auto is = [&](const Char& c, std::string_view part) { return spaces ? is_space(c.code) : set.find(part) != set.npos; };
  while (left && !s.empty()) {
    const Char c = decode_utf8(s, 0);
    if (!is(c, s.substr(0, c.size))) break;
    s.remove_prefix(c.size);
  }
  while (right && !s.empty()) {
    const Char c = last_char(s);
    if (!is(c, s.substr(s.size() - c.size))) break;
    s.remove_suffix(c.size);
  }
  return std::string(s);
}
std::string replaced(std::string_view s, std::string_view from, std::string_view to, int64_t most) {
  std::string out;
  size_t last = 0;
  if (from.empty()) return std::string(s);
  for (size_t at; most != 0 && (at = s.find(from, last)) != s.npos; last = at + from.size(), --most) {
    out += s.substr(last, at - last);
    out += to;
  }
  return out += s.substr(last);
}
// Words: of the method runs of letters, of the filter what blanks, hyphens and opening brackets keep apart.
std::string title_case(std::string_view s, bool filter) {
  std::string out;
  bool inside = false;
  for (size_t i = 0; i < s.size();) {
    const Char c = decode_utf8(s, i);
    const std::string_view part = s.substr(i, c.size);
    out += inside ? lower(part) : upper(part);
    inside = filter ? !is_space(c.code) && std::u32string_view(U"-([{<").find(c.code) == std::u32string_view::npos
                    : is_letter(c.code);
    i += c.size;
  }
  return out;
}
std::string capitalized(std::string_view s) {
  if (s.empty()) return {};
  const size_t n = decode_utf8(s, 0).size;
  return upper(s.substr(0, n)) + lower(s.substr(n));
}

bool has_method(const Value& v, std::string_view name) {
  const auto in = [name](const auto& list) { return std::find(std::begin(list), std::end(list), name) != std::end(list); };
  return v.is_text()   ? in(kTextMethods)
         : v.is_dict() ? in(kDictMethods)
         : v.is_list() ? in(kListMethods)
                       : v.kind == Kind::loop && (name == "cycle" || name == "changed");
}

Value text_method(Interpreter& in, const std::string& self, const std::string& name, const Args& args) {
  const auto text = [&](size_t i, const char* what) -> const std::string& {
    const Value& v = args.need(i, what, name);
    if (!v.is_text()) wrong(args.line, "{}: {} is of type {}, not str", name, what, kind_name(v));
    return *v.text;
  };
  const auto number = [&](size_t i, const char* what) {
    const Value* v = args.get(i, what);
    if (v && !v->is_number()) wrong(args.line, "{}: {} is of type {}, not int", name, what, kind_name(*v));
    return v ? v->as_int() : -1;
  };
  if (name == "strip" || name == "lstrip" || name == "rstrip")
    return stripped(self, args.get(0, "chars"), name != "rstrip", name != "lstrip");
  if (name == "startswith")
    return any_of(args.need(0, "prefix", name), args, name, [](auto s, auto p) { return s.starts_with(p); }, self);
  if (name == "endswith")
    return any_of(args.need(0, "suffix", name), args, name, [](auto s, auto p) { return s.ends_with(p); }, self);
  if (name == "split" || name == "rsplit") {
    const Value* by = args.get(0, "sep");
    if (by && by->kind != Kind::none && (!by->is_text() || by->text->empty()))
      wrong(args.line, "{}: the separator is no text or empty", name);
    List parts = split(self, by, number(1, "maxsplit"), name == "rsplit");
    in.charge(parts.size() * (sizeof(Value) + 32), args.line);
    return parts;
  }
  if (name == "replace") {
    const std::string &from = text(0, "old"), &to = text(1, "new");
    if (from.empty()) wrong(args.line, "replace: what is replaced is empty");
    in.charge((self.size() / from.size() + 1) * (to.size() + 1), args.line);
    return replaced(self, from, to, number(2, "count"));
  }
  if (name == "join") {
    std::string out;
    for (const Value& v : in.items(args.need(0, "iterable", name), args.line)) {
      if (!v.is_text()) wrong(args.line, "join: a value of type {}, not str", kind_name(v));
      in.charge(v.text->size() + self.size(), args.line);
      out += *v.text + self;
    }
    return out.substr(0, out.size() - std::min(out.size(), self.size()));
  }
  if (name == "find" || name == "index" || name == "rfind") {
    const size_t at = name == "rfind" ? self.rfind(text(0, "sub")) : self.find(text(0, "sub"));
    if (at == self.npos && name == "index") wrong(args.line, "index: the text is not there");
    return at == self.npos ? int64_t(-1) : int64_t(utf8_length(std::string_view(self).substr(0, at)));
  }
  if (name == "count") {
    int64_t n = 0;
    const std::string& what = text(0, "sub");
    for (size_t at = 0; !what.empty() && (at = self.find(what, at)) != self.npos; at += what.size()) ++n;
    return n;
  }
  if (name == "upper") return upper(self);
  if (name == "lower") return lower(self);
  if (name == "title") return title_case(self, false);
  if (name == "capitalize") return capitalized(self);
  if (name == "splitlines") return split_lines(self);
  if (name == "isdigit") return all_chars(self, [](char32_t c) { return category(c) == Category::Nd; });
  if (name == "isspace") return all_chars(self, is_space);
  if (name == "isalpha") return all_chars(self, is_letter);
  if (name == "isupper") return upper(self) == self && lower(self) != self;
  if (name == "islower") return lower(self) == self && upper(self) != self;
  const std::string& affix = text(0, "affix");
  if (name == "removeprefix") return self.starts_with(affix) ? self.substr(affix.size()) : self;
  return !affix.empty() && self.ends_with(affix) ? self.substr(0, self.size() - affix.size()) : self;
}

Value Interpreter::method(const Value& self, const std::string& name, const Args& args) {
  step(args.line, 1 + (self.is_text() ? self.text->size() / 64 : 0));
  if (self.is_text()) {
    charge(self.text->size(), args.line);
    return text_method(*this, *self.text, name, args);
  }
  if (self.kind == Kind::loop) {
    if (name == "changed") {
      const Value now(args.list, true);
      if (self.loop->items.empty()) return true;  // it has ended
      const bool changed = !equal(std::exchange(self.loop->changed, now), now);
      return changed;
    }
    if (args.list.empty()) wrong(args.line, "cycle: no arguments");
    return args.list[self.loop->at % args.list.size()];
  }
  if (self.is_list()) {
    const Value& what = args.need(0, "value", name);
    step(args.line, self.list->size());
    if (name == "count")
      return int64_t(std::count_if(self.list->begin(), self.list->end(), [&](const Value& v) { return equal(v, what); }));
    for (size_t i = 0; i < self.list->size(); ++i)
      if (equal((*self.list)[i], what)) return int64_t(i);
    wrong(args.line, "index: the value is not in the list");
  }
  if (name == "get") {
    const Value& key = args.need(0, "key", name);
    const Value* found = key.is_text() ? self.find(*key.text) : nullptr;
    if (found) return *found;
    const Value* otherwise = args.get(1, "default");
    return otherwise ? *otherwise : Value::none();
  }
  List out;
  charge(self.dict->size() * sizeof(Value) * 3, args.line);
  for (const auto& [key, v] : *self.dict) {
    if (name == "items")
      out.emplace_back(List{key, v}, true);
    else
      out.push_back(name == "keys" ? Value(key) : v);
  }
  return out;
}

}  // namespace dyadic::inline v1::text::jinja
