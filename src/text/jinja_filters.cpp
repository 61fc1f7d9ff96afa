// Filters and tests.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "text/jinja_interpreter.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text::jinja {
namespace {

int64_t integer_of(const Value& v, int64_t otherwise) {
  if (v.kind == Kind::number) return std::abs(v.number) < 9e18 ? int64_t(v.number) : otherwise;
  if (v.is_number()) return v.as_int();
  if (!v.is_text()) return otherwise;
  const std::string s = stripped(*v.text, nullptr, true, true);
  double d = 0;
  const char* end = s.data() + s.size();
  auto r = std::from_chars(s.data() + s.starts_with('+'), end, d);
  return r.ec == std::errc() && r.ptr == end && std::abs(d) < 9e15 ? int64_t(d) : otherwise;
}
double float_of(const Value& v, double otherwise) {
  if (v.is_number()) return v.as_double();
  if (!v.is_text()) return otherwise;
  const std::string s = stripped(*v.text, nullptr, true, true);
  double d = 0;
  auto r = std::from_chars(s.data(), s.data() + s.size(), d);
  return r.ec == std::errc() && r.ptr == s.data() + s.size() ? d : otherwise;
}
std::string indented(std::string_view s, const std::string& by, bool first, bool blank) {
  std::string out;
  bool begins = true;
  for (size_t at = 0; at <= s.size();) {
    const size_t end = std::min(s.find('\n', at), s.size());
    if (begins ? first : (blank || end > at)) out += by;
    out += s.substr(at, end - at);
    if (end < s.size()) out += '\n';
    at = end + 1;
    begins = false;
  }
  return out;
}
Value json(const Value& v, const Args& args) {
  JsonStyle style;
  const auto on = [&](size_t i, const char* name) {
    const Value* a = args.get(i, name);
    return a && a->truth();
  };
  if (const Value* indent = args.get(0, "indent"); indent && indent->is_number())
    style.indent = int(std::clamp<int64_t>(indent->as_int(), 0, 100));
  for (const auto& [name, a] : args.named) {
    if (name == "ensure_ascii") style.ascii = a.truth();
    if (name == "sort_keys") style.sorted = a.truth();
    if (name == "separators" && a.is_list() && a.list->size() == 2 && (*a.list)[0].is_text() && (*a.list)[1].is_text())
      style.between = *(*a.list)[0].text, style.colon = *(*a.list)[1].text;
  }
  style.ascii |= on(1, "ensure_ascii");
  style.sorted |= on(3, "sort_keys");
  return to_json(v, style);
}

// Filters of a text.
std::optional<Value> text_filter(Interpreter& in, const std::string& name, const Value& input, const Args& args) {
  const auto text = [&] {
    std::string s = to_text(input);
    in.charge(s.size(), args.line);
    return s;
  };
  if (name == "trim") return stripped(text(), args.get(0, "chars"), true, true);
  if (name == "upper") return upper(text());
  if (name == "lower") return lower(text());
  if (name == "title") return title_case(text(), true);
  if (name == "capitalize") return capitalized(text());
  if (name == "string" || name == "safe") return text();
  if (name == "escape" || name == "e") return html_escape(text());
  if (name == "replace") {
    Args same = args;
    for (Value& v : same.list)
      if (!v.is_number()) v = to_text(v);
    return text_method(in, text(), "replace", same);
  }
  if (name == "indent") {
    const Value* by = args.get(0, "width");
    const Value *first = args.get(1, "first"), *blank = args.get(2, "blank");
    std::string with(4, ' ');
    if (by && by->is_text()) with = *by->text;
    if (by && by->is_number()) with = std::string(size_t(std::clamp<int64_t>(by->as_int(), 0, 1000)), ' ');
    const std::string s = text();
    in.charge(size_t(std::count(s.begin(), s.end(), '\n') + 1) * with.size(), args.line);
    return indented(s, with, first && first->truth(), blank && blank->truth());
  }
  return {};
}

Value number_filter(const std::string& name, const Value& input, const Args& args) {
  const Value* otherwise = args.get(0, "default");
  if (const Value* base = name == "int" ? args.get(1, "base") : nullptr; base && integer_of(*base, 0) != 10)
    wrong(args.line, "int: another base than 10 is not supported");
  if (name == "int") return integer_of(input, otherwise ? integer_of(*otherwise, 0) : 0);
  if (name == "float") return float_of(input, otherwise ? float_of(*otherwise, 0) : 0.0);
  if (!input.is_number()) wrong(args.line, "{}: the value is of type {}, not a number", name, kind_name(input));
  if (name == "abs") {
    if (input.kind == Kind::number) return std::abs(input.number);
    if (input.as_int() == INT64_MIN) wrong(args.line, "an integer becomes too large");
    return std::abs(input.as_int());
  }
  const Value* precision = args.get(0, "precision");
  const double scale = std::pow(10.0, precision ? double(std::clamp<int64_t>(integer_of(*precision, 0), -20, 20)) : 0.0);
  return std::nearbyint(input.as_double() * scale) / scale;
}

}  // namespace

Value Interpreter::filter(const std::string& name, const Value& input, const Args& args) {
  step(args.line);
  try {
    if (name == "default" || name == "d") {
      const Value *otherwise = args.get(0, "default_value"), *boolean = args.get(1, "boolean");
      const bool take = input.is_defined() && !(boolean && boolean->truth() && !input.truth());
      return take ? input : otherwise ? *otherwise : Value("");
    }
    if (name == "tojson") {
      const Value v = json(input, args);
      charge(v.text->size(), args.line);
      return v;
    }
    if (name == "length" || name == "count") return length_of(input, args.line);
    if (name == "int" || name == "float" || name == "abs" || name == "round") return number_filter(name, input, args);
    if (auto v = text_filter(*this, name, input, args)) return *v;
    if (auto v = list_filter(name, input, args)) return *v;
  } catch (const ValueError& error) {
    if (std::string_view(error.what()).starts_with("chat template")) throw;
    wrong(args.line, "{}: {}", shown(name), error.what());
  }
  wrong(args.line, "the filter \"{}\" is not supported", shown(name));
}

bool Interpreter::test(const std::string& name, const Value& v, const Args& args) {
  step(args.line);
  const auto other = [&]() -> const Value& { return args.need(0, "other", name); };
  if (name == "defined") return v.is_defined();
  if (name == "undefined") return !v.is_defined();
  if (name == "none") return v.kind == Kind::none;
  if (name == "string") return v.is_text();
  if (name == "number") return v.is_number();
  if (name == "integer") return v.kind == Kind::integer;
  if (name == "float") return v.kind == Kind::number;
  if (name == "boolean") return v.kind == Kind::boolean;
  if (name == "true") return v.kind == Kind::boolean && v.boolean;
  if (name == "false") return v.kind == Kind::boolean && !v.boolean;
  if (name == "mapping") return v.is_dict();
  if (name == "sequence") return v.is_text() || v.is_list() || v.is_dict();
  if (name == "iterable") return v.is_text() || v.is_list() || v.is_dict() || !v.is_defined();
  if (name == "callable") return v.kind == Kind::function;
  if (name == "eq" || name == "equalto" || name == "==") return equal(v, other());
  if (name == "ne" || name == "!=") return !equal(v, other());
  if (name == "in") return contains(other(), v, args.line);
  if (name == "lower") return v.is_text() && lower(*v.text) == *v.text;
  if (name == "upper") return v.is_text() && upper(*v.text) == *v.text;
  if (name == "odd" || name == "even" || name == "divisibleby") {
    const int64_t by = name == "divisibleby" ? integer_of(other(), 0) : 2;
    if (v.kind != Kind::integer || by == 0) wrong(args.line, "{}: of a {} by {}", name, kind_name(v), by);
    return by == -1 || (v.integer % by == 0) == (name != "odd");
  }
  try {
    if (name == "lt" || name == "lessthan" || name == "<") return less(v, other());
    if (name == "le" || name == "<=") return !less(other(), v);
    if (name == "gt" || name == "greaterthan" || name == ">") return less(other(), v);
    if (name == "ge" || name == ">=") return !less(v, other());
  } catch (const ValueError& error) { wrong(args.line, "{}: {}", name, error.what()); }
  wrong(args.line, "the test \"{}\" is not supported", shown(name));
}

}  // namespace dyadic::inline v1::text::jinja
