// Filters of lists and dicts.
#include <algorithm>

#include "text/jinja_interpreter.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text::jinja {
namespace {

Value folded(const Value& v, bool sensitive) { return v.is_text() && !sensitive ? Value(lower(*v.text)) : v; }
bool truth(const Value* v, bool otherwise = false) { return v ? v->truth() : otherwise; }

}  // namespace

Value Interpreter::path(const Value& of, std::string_view dotted, int line) {
  Value v = of;
  for (;;) {
    const size_t dot = dotted.find('.');
    const std::string name(dotted.substr(0, dot));
    const bool digits =
        !name.empty() && name.size() < 9 && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    v = digits ? item(v, Value(int64_t(std::stoi(name))), line) : v.is_defined() ? attribute(v, name, false, line) : v;
    if (dot == dotted.npos) return v;
    dotted.remove_prefix(dot + 1);
  }
}

// select, reject, selectattr, rejectattr.
Value Interpreter::select(const std::string& name, const Value& input, const Args& args) {
  const bool by_attribute = name.ends_with("attr"), keep = name.starts_with("select");
  const size_t skip = by_attribute;
  const std::string attr = by_attribute ? to_text(args.need(0, "attribute", name)) : "";
  Args rest;
  rest.line = args.line;
  for (size_t i = skip + 1; i < args.list.size(); ++i) rest.list.push_back(args.list[i]);
  List out;
  for (Value& v : items(input, args.line)) {
    const Value x = by_attribute ? path(v, attr, args.line) : v;
    const bool is = args.list.size() > skip ? test(to_text(args.list[skip]), x, rest) : x.truth();
    if (is == keep) out.push_back(std::move(v));
  }
  return out;
}
Value Interpreter::map(const Value& input, const Args& args) {
  List out;
  const Value* attr = nullptr;
  const Value* otherwise = nullptr;
  for (const auto& [n, v] : args.named) (n == "attribute" ? attr : otherwise) = &v;
  if (!attr && args.list.empty()) wrong(args.line, "map: neither a filter nor an attribute");
  Args rest;
  rest.line = args.line;
  if (!attr) {
    rest.list.assign(args.list.begin() + 1, args.list.end());
    rest.named = args.named;
  }
  for (const Value& v : items(input, args.line)) {
    Value made = attr ? path(v, to_text(*attr), args.line) : filter(to_text(args.list[0]), v, rest);
    if (attr && otherwise && !made.is_defined()) made = *otherwise;
    out.push_back(std::move(made));
  }
  return out;
}

std::optional<Value> Interpreter::list_filter(const std::string& name, const Value& input, const Args& args) {
  const auto attr = [&](size_t i, const Value& v) {
    const Value* a = args.get(i, "attribute");
    return a && a->kind != Kind::none ? path(v, to_text(*a), args.line) : v;
  };
  if (name == "select" || name == "reject" || name == "selectattr" || name == "rejectattr") return select(name, input, args);
  if (name == "map") return map(input, args);
  if (name == "items") {
    if (!input.is_defined()) return Value(List{});
    if (!input.is_dict()) wrong(args.line, "items: the value is of type {}, not dict", kind_name(input));
    return method(input, "items", args);
  }
  if (name == "dictsort") {
    if (!input.is_dict()) wrong(args.line, "dictsort: the value is of type {}, not dict", kind_name(input));
    const bool sensitive = truth(args.get(0, "case_sensitive"));
    const Value* by = args.get(1, "by");
    const size_t at = by && by->is_text() && *by->text == "value";
    List pairs = items(method(input, "items", {}), args.line);
    std::stable_sort(pairs.begin(), pairs.end(), [&](const Value& a, const Value& b) {
      return less(folded((*a.list)[at], sensitive), folded((*b.list)[at], sensitive));
    });
    if (truth(args.get(2, "reverse"))) std::reverse(pairs.begin(), pairs.end());
    return pairs;
  }
  if (name == "reverse" && input.is_text())
    return slice(input, nullptr, nullptr, std::make_unique<Value>(int64_t(-1)).get(), args.line);
  constexpr std::string_view kNames[] = {"first", "last", "list", "reverse", "join", "sort", "unique", "sum", "min", "max"};
  if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) return {};
  List list = items(input, args.line);
  charge(list.size() * sizeof(Value), args.line);
  if (name == "first" || name == "last")
    return list.empty() ? Value::undefined(name) : name == "first" ? list.front() : list.back();
  if (name == "reverse") std::reverse(list.begin(), list.end());
  if (name == "list" || name == "reverse") return list;
  if (name == "join") {
    const Value* by = args.get(0, "d");
    const std::string sign = by ? to_text(*by) : "";
    std::string out;
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string s = to_text(attr(1, list[i]));
      charge(s.size() + sign.size(), args.line);
      if (i) out += sign;
      out += s;
    }
    return out;
  }
  if (name == "sum") {
    const Value* start = args.get(1, "start");
    Value sum = start ? *start : Value(int64_t(0));
    for (const Value& v : list) sum = arithmetic(Op::add, sum, attr(0, v), args.line);
    return sum;
  }
  // The order of Python's sorted: texts without their case, unless asked for.
  const bool sorts = name == "sort";
  const bool sensitive = truth(args.get(sorts ? 1 : 0, "case_sensitive"));
  const auto key = [&](const Value& v) { return folded(attr(sorts ? 2 : 1, v), sensitive); };
  step(args.line, list.size() * 16);
  if (name == "unique") {
    List out, seen;
    for (Value& v : list) {
      step(args.line, seen.size());
      const Value k = key(v);
      if (std::any_of(seen.begin(), seen.end(), [&](const Value& s) { return equal(s, k); })) continue;
      seen.push_back(k);
      out.push_back(std::move(v));
    }
    return out;
  }
  const auto before = [&](const Value& a, const Value& b) { return less(key(a), key(b)); };
  if (sorts) {
    const bool backwards = truth(args.get(0, "reverse"));
    std::stable_sort(list.begin(), list.end(),
                     [&](const Value& a, const Value& b) { return backwards ? before(b, a) : before(a, b); });
    return list;
  }
  if (list.empty()) return Value::undefined(name);
  return name == "min" ? *std::min_element(list.begin(), list.end(), before)
                       : *std::max_element(list.begin(), list.end(), before);
}

}  // namespace dyadic::inline v1::text::jinja
