// Operators, members, slices and calls.
#include <algorithm>
#include <cmath>
#include <ctime>

#include "text/jinja_interpreter.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text::jinja {
namespace {

[[noreturn]] void undefined(const Value& v, int line) {
  wrong(line, "\"{}\" is not defined", shown(v.text ? std::string_view(*v.text) : std::string_view()));
}
int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
constexpr uint64_t kSmallValue = sizeof(Value);

std::vector<size_t> char_places(std::string_view s) {  // where each character begins, and the end
  std::vector<size_t> at;
  for (size_t i = 0; i < s.size(); i += decode_utf8(s, i).size) at.push_back(i);
  at.push_back(s.size());
  return at;
}

Value loop_member(const Loop& l, std::string_view name) {
  const int64_t at = int64_t(l.at), n = int64_t(l.items.size());
  if (name == "index") return at + 1;
  if (name == "index0") return at;
  if (name == "revindex") return n - at;
  if (name == "revindex0") return n - at - 1;
  if (name == "first") return at == 0;
  if (name == "last") return at + 1 == n;
  if (name == "length") return n;
  if (name == "depth") return int64_t(1);
  if (name == "depth0") return int64_t(0);
  if (name == "previtem" && at > 0) return l.items[l.at - 1];
  if (name == "nextitem" && at + 1 < n) return l.items[l.at + 1];
  return Value::undefined("loop." + std::string(name));
}

}  // namespace

void put(Dict& dict, const std::string& key, Value v) {
  const auto at = std::ranges::find(dict, key, [](const auto& entry) -> const std::string& { return entry.first; });
  at == dict.end() ? void(dict.emplace_back(key, std::move(v))) : void(at->second = std::move(v));
}
int64_t length_of(const Value& v, int line) {
  if (v.is_text()) return int64_t(utf8_length(*v.text));
  if (v.is_list()) return int64_t(v.list->size());
  if (v.is_dict()) return int64_t(v.dict->size());
  if (!v.is_defined()) return 0;
  wrong(line, "a value of type {} has no length", kind_name(v));
}
bool contains(const Value& in, const Value& what, int line) {
  if (in.is_text() && what.is_text()) return in.text->find(*what.text) != std::string::npos;
  if (in.is_list()) return std::any_of(in.list->begin(), in.list->end(), [&](const Value& v) { return equal(v, what); });
  if (in.is_dict() || in.kind == Kind::space) return what.is_text() && in.find(*what.text);
  if (!in.is_defined()) return false;
  wrong(line, "\"in\": a value of type {} holds no value of type {}", kind_name(in), kind_name(what));
}

Value Interpreter::eval_compare(const Expr& e) {
  const Value a = eval(*e.parts[0]);
  if (e.op == Op::negative || e.op == Op::positive) {
    if (!a.is_number()) wrong(e.line, "a sign before a value of type {}", kind_name(a));
    if (e.op == Op::positive) return a;
    if (a.kind == Kind::number) return -a.number;
    if (a.as_int() == INT64_MIN) wrong(e.line, "an integer becomes too large");
    return -a.as_int();
  }
  return compare(e.op, a, eval(*e.parts[1]), e.line);
}
Value Interpreter::eval_chained(const Expr& e) {
  Value left = eval(*e.parts[0]->parts[0]), result;
  for (const ExprPtr& part : e.parts) {
    Value right = eval(*part->parts[1]);
    if (result = compare(part->op, left, right, part->line); !result.truth()) break;
    left = std::move(right);
  }
  return result;
}
Value Interpreter::compare(Op op, const Value& a, const Value& b, int line) {
  // What a comparison looks at is paid for: a list of texts in a loop is quadratic.
  const auto size = [](const Value& v) {
    return v.is_text() ? v.text->size() / 64 : v.list ? v.list->size() : v.dict ? v.dict->size() : 0;
  };
  step(line, 1 + size(a) + size(b));
  try {
    switch (op) {
      case Op::equal:
        return equal(a, b);
      case Op::unequal:
        return !equal(a, b);
      case Op::less:
        return less(a, b);
      case Op::less_equal:
        return !less(b, a);
      case Op::more:
        return less(b, a);
      case Op::more_equal:
        return !less(a, b);
      case Op::in:
        return contains(b, a, line);
      case Op::not_in:
        return !contains(b, a, line);
      case Op::concat: {
        const std::string x = to_text(a), y = to_text(b);
        charge(x.size() + y.size(), line);
        return x + y;
      }
      default:
        return arithmetic(op, a, b, line);
    }
  } catch (const ValueError& error) {
    if (std::string_view(error.what()).starts_with("chat template")) throw;
    wrong(line, "{}", error.what());
  }
}

Value Interpreter::repeated(const Value& v, int64_t times, int line) {
  const uint64_t n = uint64_t(std::max<int64_t>(times, 0));
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(v.is_text() ? v.text->size() : v.list->size() * kSmallValue, n, &bytes)) bytes = UINT64_MAX;
  charge(bytes, line);
  std::string s;
  List list;
  for (uint64_t i = 0; bytes && i < n; ++i)
    v.is_text() ? void(s += *v.text) : void(list.insert(list.end(), v.list->begin(), v.list->end()));
  return v.is_text() ? Value(std::move(s)) : Value(std::move(list), v.kind == Kind::tuple);
}

Value Interpreter::arithmetic(Op op, const Value& a, const Value& b, int line) {
  if (!a.is_defined()) undefined(a, line);
  if (!b.is_defined()) undefined(b, line);
  if (op == Op::add && a.is_text() && b.is_text()) {
    charge(a.text->size() + b.text->size(), line);
    return *a.text + *b.text;
  }
  if (op == Op::add && a.is_list() && b.kind == a.kind) {
    charge((a.list->size() + b.list->size()) * kSmallValue, line);
    List all = *a.list;
    all.insert(all.end(), b.list->begin(), b.list->end());
    return Value(std::move(all), a.kind == Kind::tuple);
  }
  if (op == Op::multiply && (a.is_text() || a.is_list()) && b.kind == Kind::integer) return repeated(a, b.integer, line);
  if (op == Op::multiply && (b.is_text() || b.is_list()) && a.kind == Kind::integer) return repeated(b, a.integer, line);
  if (op == Op::modulo && a.is_text())
    wrong(line, "the sign % of a str, which would format it, is not supported; ~ joins texts");
  if (!a.is_number() || !b.is_number()) wrong(line, "no arithmetic of a {} and a {}", kind_name(a), kind_name(b));
  if (op == Op::divide || a.kind == Kind::number || b.kind == Kind::number) {
    const double x = a.as_double(), y = b.as_double();
    if (y == 0 && (op == Op::divide || op == Op::floor || op == Op::modulo)) wrong(line, "a division by zero");
    return op == Op::add        ? x + y
           : op == Op::subtract ? x - y
           : op == Op::multiply ? x * y
           : op == Op::divide   ? x / y
           : op == Op::floor    ? std::floor(x / y)
           : op == Op::modulo   ? x - y * std::floor(x / y)
                                : std::pow(x, y);
  }
  const int64_t x = a.as_int(), y = b.as_int();
  int64_t r = 0;
  bool over = false;
  if (op == Op::add) {
    over = __builtin_add_overflow(x, y, &r);
  } else if (op == Op::subtract) {
    over = __builtin_sub_overflow(x, y, &r);
  } else if (op == Op::multiply) {
    over = __builtin_mul_overflow(x, y, &r);
  } else if (op == Op::power) {
    if (y < 0) return std::pow(double(x), double(y));
    r = 1;
    step(line, uint64_t(std::min<int64_t>(y, 64)));
    if (y > 64 && (x > 1 || x < -1)) over = true;
    for (int64_t i = 0; i < (x > 1 || x < -1 ? y : std::min<int64_t>(y, 2 - (y & 1))) && !over; ++i)
      over = __builtin_mul_overflow(r, x, &r);
  } else {
    if (y == 0) wrong(line, "a division by zero");
    over = y == -1 && x == INT64_MIN;
    if (!over) r = op == Op::floor ? floor_divide(x, y) : x - y * floor_divide(x, y);
  }
  if (over) wrong(line, "an integer becomes too large");
  return r;
}

Value Interpreter::attribute(const Value& of, const std::string& name, bool method_first, int line) {
  if (!of.is_defined()) undefined(of, line);
  if (of.dict) step(line, 1 + of.dict->size() / 8);
  if (of.kind == Kind::loop && name != "cycle" && name != "changed") return loop_member(*of.loop, name);
  const Value* entry = of.find(name);
  if (entry && !method_first) return *entry;
  if (has_method(of, name)) {
    Value v = Value::of(Kind::function);
    v.function = std::make_shared<Function>(Function{name, of, nullptr});
    v.depth = of.depth;
    return v;
  }
  if (entry) return *entry;
  return Value::undefined(name);
}
Value Interpreter::item(const Value& of, const Value& key, int line) {
  if (key.is_text()) return attribute(of, *key.text, false, line);
  if (!of.is_defined()) undefined(of, line);
  if (key.kind == Kind::integer && of.is_list()) {
    const int64_t n = int64_t(of.list->size()), i = key.integer < 0 ? key.integer + n : key.integer;
    return i >= 0 && i < n ? (*of.list)[size_t(i)] : Value::undefined(std::to_string(key.integer));
  }
  if (key.kind == Kind::integer && of.is_text()) {
    step(line, 1 + of.text->size() / 16);
    const auto at = char_places(*of.text);
    const int64_t n = int64_t(at.size()) - 1, i = key.integer < 0 ? key.integer + n : key.integer;
    if (i < 0 || i >= n) return Value::undefined(std::to_string(key.integer));
    return of.text->substr(at[size_t(i)], at[size_t(i) + 1] - at[size_t(i)]);
  }
  return Value::undefined(shown(to_text(key)));
}
Value Interpreter::slice(const Value& of, const Value* begin, const Value* end, const Value* step_value, int line) {
  if (!of.is_defined()) undefined(of, line);
  if (!of.is_list() && !of.is_text()) wrong(line, "a value of type {} has no slices", kind_name(of));
  const std::vector<size_t> at = of.is_text() ? char_places(*of.text) : std::vector<size_t>();
  const int64_t n = of.is_text() ? int64_t(at.size()) - 1 : int64_t(of.list->size());
  for (const Value* v : {begin, end, step_value})
    if (v && v->kind != Kind::integer) wrong(line, "a slice from a value of type {}", kind_name(*v));
  const int64_t by = step_value ? step_value->integer : 1;
  if (by == 0) wrong(line, "a slice with step 0");
  const auto bound = [&](const Value* v, int64_t otherwise) {
    if (!v) return otherwise;
    const int64_t i = v->integer < 0 ? v->integer + n : v->integer;
    return by > 0 ? std::clamp<int64_t>(i, 0, n) : std::clamp<int64_t>(i, -1, n - 1);
  };
  const int64_t from = bound(begin, by > 0 ? 0 : n - 1), to = bound(end, by > 0 ? n : -1);
  charge(uint64_t(n) * (of.is_text() ? 1 : kSmallValue), line);
  step(line, 1 + uint64_t(n) / 16);
  List list;
  std::string text;
  for (int64_t i = from; by > 0 ? i < to : i > to;) {
    if (of.is_text())
      text.append(*of.text, at[size_t(i)], at[size_t(i) + 1] - at[size_t(i)]);
    else
      list.push_back((*of.list)[size_t(i)]);
    if (__builtin_add_overflow(i, by, &i)) break;
  }
  return of.is_text() ? Value(std::move(text)) : Value(std::move(list), of.kind == Kind::tuple);
}

List Interpreter::items(const Value& v, int line) {
  List out;
  if (v.is_list()) {
    out = *v.list;
  } else if (v.is_text()) {
    const auto at = char_places(*v.text);
    charge((at.size() - 1) * (kSmallValue + 32), line);
    for (size_t i = 0; i + 1 < at.size(); ++i) out.emplace_back(v.text->substr(at[i], at[i + 1] - at[i]));
  } else if (v.is_dict()) {
    for (const auto& [key, value] : *v.dict) out.emplace_back(key);
  } else if (v.is_defined()) {
    wrong(line, "a value of type {} is no list", kind_name(v));
  }
  step(line, 1 + out.size() / 4);
  return out;
}

Value Interpreter::call(const Value& f, const Args& args, const Value* caller) {
  if (!f.is_defined()) undefined(f, args.line);
  if (f.kind != Kind::function) wrong(args.line, "a value of type {} is no function", kind_name(f));
  if (f.function->macro) return call_macro(*f.function->macro, args, caller);
  if (f.function->self.is_defined()) return method(f.function->self, f.function->name, args);
  return call_global(f.function->name, args);
}

Value Interpreter::call_global(const std::string& name, const Args& args) {
  if (name == "raise_exception") wrong(args.line, "{}", shown(to_text(args.need(0, "message", name))));
  if (name == "dict" || name == "namespace") {
    Dict dict;
    if (const Value* v = args.list.empty() ? nullptr : &args.list[0]; v && v->is_dict()) dict = *v->dict;
    for (const auto& [key, v] : args.named) {
      step(args.line, dict.size() / 8);
      put(dict, key, v);
    }
    charge(dict.size() * kSmallValue * 2, args.line);
    Value v(std::move(dict));
    if (name == "namespace") {
      v.kind = Kind::space;
      v.depth = 0;  // emptied at the end
      spaces_.push_back(v.dict);
    }
    return v;
  }
  if (name == "range") {
    int64_t n[3] = {0, 0, 1};
    if (args.list.empty() || args.list.size() > 3) wrong(args.line, "range: {} arguments", args.list.size());
    for (size_t i = 0; i < args.list.size(); ++i) {
      if (!args.list[i].is_number()) wrong(args.line, "range: an argument is of type {}", kind_name(args.list[i]));
      n[args.list.size() == 1 ? 1 : i] = args.list[i].as_int();
    }
    if (n[2] == 0) wrong(args.line, "range: step 0");
    List list;
    for (int64_t i = n[0]; n[2] > 0 ? i < n[1] : i > n[1];) {
      step(args.line);
      charge(kSmallValue, args.line);
      list.emplace_back(i);
      if (__builtin_add_overflow(i, n[2], &i)) break;
    }
    return list;
  }
  const Value& format = args.need(0, "format", name);  // strftime_now
  if (!format.is_text() || format.text->size() > 1000) wrong(args.line, "strftime_now: the format is no short text");
  const time_t t = now_ < 0 ? time(nullptr) : time_t(now_);
  tm parts{};
  now_ < 0 ? localtime_r(&t, &parts) : gmtime_r(&t, &parts);
  std::string out(format.text->size() * 64 + 64, '\0');
  out.resize(strftime(out.data(), out.size(), format.text->c_str(), &parts));
  return out;
}

}  // namespace dyadic::inline v1::text::jinja
