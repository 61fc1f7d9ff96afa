// Statements: writing, setting, looping, macros.
#include <algorithm>

#include "text/jinja_interpreter.h"

namespace dyadic::inline v1::text::jinja {

namespace {
constexpr int kDeepestRun = 300;  // statements, expressions and macros within each other
}

struct Interpreter::Deeper {
  Interpreter& in;
  Deeper(Interpreter& i, int line) : in(i) {
    if (++in.depth_ > kDeepestRun) wrong(line, "nested more than {} deep while it runs", kDeepestRun);
  }
  ~Deeper() { --in.depth_; }
};

Interpreter::Interpreter(const std::vector<std::pair<std::string, Value>>& names, int64_t now, const Limits& limits)
    : left_(limits), now_(now) {
  scopes_.emplace_back();
  for (const char* f : {"range", "dict", "namespace", "raise_exception", "strftime_now"}) {
    Value v = Value::of(Kind::function);
    v.function = std::make_shared<Function>(Function{f, {}, nullptr});
    scopes_[0][f] = v;
  }
  for (const auto& [name, v] : names) scopes_[0][name] = v;
}
Interpreter::~Interpreter() {
  scopes_.clear();
  for (const auto& s : spaces_) s->clear();
}
std::string Interpreter::render(const Body& body) {
  std::string out;
  out_ = &out;
  run(body);
  return out;
}

void Interpreter::step(int line, uint64_t n) {
  if (n > left_.steps) wrong(line, "the template takes too many steps");
  left_.steps -= n;
}
void Interpreter::charge(uint64_t bytes, int line) {
  if (bytes > left_.bytes) wrong(line, "the template takes too much memory");
  left_.bytes -= bytes;
}
Value Interpreter::find(const std::string& name) const {
  for (size_t i = scopes_.size(); i-- > base_;)
    if (auto at = scopes_[i].find(name); at != scopes_[i].end()) return at->second;
  if (auto at = scopes_[0].find(name); at != scopes_[0].end()) return at->second;
  return Value::undefined(name);
}
void Interpreter::write(const std::string& s, int line) {
  charge(s.size(), line);
  *out_ += s;
}
std::string Interpreter::captured(const Body& body) {
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  scopes_.emplace_back();
  run(body);
  scopes_.pop_back();
  out_ = outer;
  return text;
}

Interpreter::Flow Interpreter::run(const Body& body) {
  for (const Statement& s : body.list)
    if (const Flow f = run(s); f != Flow::on) return f;
  return Flow::on;
}
Interpreter::Flow Interpreter::run(const Statement& s) {
  const Deeper deeper(*this, s.line);
  step(s.line);
  switch (s.what) {
    case Do::text:
      write(s.text, s.line);
      break;
    case Do::print:
      write(to_text(eval(*s.expr)), s.line);
      break;
    case Do::set:
    case Do::set_block:
      run_set(s);
      break;
    case Do::branch:
      for (const Branch& b : s.branches)
        if (!b.condition || eval(*b.condition).truth()) return run(b.body);
      break;
    case Do::loop:
      return run_loop(s);
    case Do::macro: {
      Value v = Value::of(Kind::function);
      v.function = std::make_shared<Function>(Function{s.macro->name, {}, s.macro.get()});
      scopes_.back()[s.macro->name] = v;
      break;
    }
    case Do::call:
      run_call(s);
      break;
    case Do::filter: {
      const std::string text = captured(s.body);
      scopes_.push_back({{"", Value(text)}});
      const Value v = eval(*s.expr);
      scopes_.pop_back();
      write(to_text(v), s.line);
      break;
    }
    case Do::pass:
      return run(s.body);
    case Do::stop:
      return Flow::stop;
    case Do::next:
      return Flow::next;
  }
  return Flow::on;
}

void Interpreter::assign(const std::vector<std::string>& targets, const Value& v, int line) {
  if (targets.size() == 1) {
    scopes_.back()[targets[0]] = v;
    return;
  }
  const List list = items(v, line);
  if (list.size() != targets.size()) wrong(line, "{} names are given {} values", targets.size(), list.size());
  for (size_t i = 0; i < targets.size(); ++i) scopes_.back()[targets[i]] = list[i];
}
void Interpreter::run_set(const Statement& s) {
  Value v;
  if (s.what == Do::set) {
    v = eval(*s.expr);
  } else {
    v = captured(s.body);
    if (s.expr) {
      scopes_.push_back({{"", v}});
      v = eval(*s.expr);
      scopes_.pop_back();
    }
  }
  if (!s.member) return assign(s.targets, v, s.line);
  Value space = find(s.targets[0]);
  if (space.kind != Kind::space) wrong(s.line, "{} is no namespace: its members cannot be set", shown(s.targets[0]));
  charge(sizeof(Value) + s.targets[1].size(), s.line);
  for (auto& [key, value] : *space.dict)
    if (key == s.targets[1]) {
      value = v;
      return;
    }
  space.dict->emplace_back(s.targets[1], v);
}

Interpreter::Flow Interpreter::run_loop(const Statement& s) {
  List all = items(eval(*s.expr), s.line);
  charge(all.size() * sizeof(Value), s.line);
  if (s.condition) {
    List kept;
    scopes_.emplace_back();
    for (Value& v : all) {
      step(s.line);
      assign(s.targets, v, s.line);
      if (eval(*s.condition).truth()) kept.push_back(std::move(v));
    }
    scopes_.pop_back();
    all = std::move(kept);
  }
  if (all.empty()) return run(s.otherwise);
  Value loop = Value::of(Kind::loop);
  loop.loop = std::make_shared<Loop>();
  loop.loop->items = std::move(all);
  const size_t count = loop.loop->items.size();
  struct Emptied {  // what it was asked to remember may be itself
    Loop& l;
    ~Emptied() {
      l.items.clear();
      l.changed = {};
    }
  } const emptied{*loop.loop};
  Flow flow = Flow::on;
  for (size_t i = 0; i < count && flow != Flow::stop; ++i) {
    step(s.line);
    scopes_.emplace_back();
    scopes_.back()["loop"] = loop;
    loop.loop->at = i;
    assign(s.targets, loop.loop->items[i], s.line);
    flow = run(s.body);
    scopes_.pop_back();
  }
  return Flow::on;
}

void Interpreter::run_call(const Statement& s) {
  Value caller = Value::of(Kind::function);
  caller.function = std::make_shared<Function>(Function{"caller", {}, s.macro.get()});
  const Args args = arguments(*s.expr);
  write(to_text(call(eval(*s.expr->parts[0]), args, &caller)), s.line);
}

Value Interpreter::call_macro(const Macro& m, const Args& args, const Value* caller) {
  const Deeper deeper(*this, args.line);
  Scope scope;
  if (args.list.size() > m.parameters.size())
    wrong(args.line, "macro {} takes {} arguments, not {}", shown(m.name), m.parameters.size(), args.list.size());
  for (const auto& [name, v] : args.named)
    if (std::find(m.parameters.begin(), m.parameters.end(), name) == m.parameters.end())
      wrong(args.line, "macro {} has no argument \"{}\"", shown(m.name), shown(name));
  // A caller sees the names of where it was written; another macro the template's own.
  const size_t outer = m.name == "caller" ? base_ : std::exchange(base_, scopes_.size());
  scopes_.push_back(std::move(scope));
  for (size_t i = 0; i < m.parameters.size(); ++i) {
    const Value* given = args.get(i, m.parameters[i]);
    Value v = given ? *given : m.defaults[i] ? eval(*m.defaults[i]) : Value::undefined(m.parameters[i]);
    scopes_.back()[m.parameters[i]] = std::move(v);
  }
  if (caller) scopes_.back()["caller"] = *caller;
  std::string text = captured(m.body);
  scopes_.pop_back();
  base_ = outer;
  return text;
}

Value Interpreter::eval(const Expr& e) {
  const Deeper deeper(*this, e.line);
  step(e.line);
  switch (e.op) {
    case Op::constant:
      return e.value;
    case Op::name:
      return find(e.name);
    case Op::list:
    case Op::tuple: {
      List list;
      for (const auto& p : e.parts) list.push_back(eval(*p));
      charge(list.size() * sizeof(Value), e.line);
      return Value(std::move(list), e.op == Op::tuple);
    }
    case Op::dict: {
      Dict dict;
      for (size_t i = 0; i < e.parts.size(); i += 2) {
        const Value key = eval(*e.parts[i]);
        if (!key.is_text()) wrong(e.line, "a dict's key is {}: only texts are supported", kind_name(key));
        step(e.line, dict.size() / 8);
        put(dict, *key.text, eval(*e.parts[i + 1]));
      }
      charge(dict.size() * sizeof(Value) * 2, e.line);
      return dict;
    }
    case Op::attribute:
      return attribute(eval(*e.parts[0]), e.name, true, e.line);
    case Op::item:
      return item(eval(*e.parts[0]), eval(*e.parts[1]), e.line);
    case Op::slice: {
      const Value of = eval(*e.parts[0]);
      Value v[3];
      for (size_t i = 0; i < 3; ++i)
        if (e.parts[i + 1]) v[i] = eval(*e.parts[i + 1]);
      const auto at = [&](size_t i) { return e.parts[i + 1] && v[i].kind != Kind::none ? &v[i] : nullptr; };
      return slice(of, at(0), at(1), at(2), e.line);
    }
    case Op::call: {
      const Value f = eval(*e.parts[0]);
      if (!f.is_defined() && e.parts[0]->op == Op::attribute)
        wrong(e.line, "the method \"{}\" is not supported, or what it is called of has none", shown(e.parts[0]->name));
      if (!f.is_defined()) wrong(e.line, "\"{}\" is not defined", shown(f.text ? *f.text : e.parts[0]->name));
      return call(f, arguments(e));
    }
    case Op::filter: {
      const Value input = eval(*e.parts[0]);
      return filter(e.name, input, arguments(e));
    }
    case Op::test: {
      const Value input = eval(*e.parts[0]);
      return test(e.name, input, arguments(e));
    }
    case Op::invert:
      return !eval(*e.parts[0]).truth();
    case Op::either:
    case Op::both: {
      Value a = eval(*e.parts[0]);
      return a.truth() == (e.op == Op::either) ? a : eval(*e.parts[1]);
    }
    case Op::choice:
      return eval_choice(e);
    case Op::chained:
      return eval_chained(e);
    default:
      return eval_compare(e);
  }
}
Value Interpreter::eval_choice(const Expr& e) {
  if (eval(*e.parts[0]).truth()) return eval(*e.parts[1]);
  return e.parts[2] ? eval(*e.parts[2]) : Value::undefined("");
}
Args Interpreter::arguments(const Expr& e) {
  Args a;
  a.line = e.line;
  for (size_t i = 1; i < e.parts.size(); ++i) a.list.push_back(eval(*e.parts[i]));
  for (const auto& [name, p] : e.named) a.named.emplace_back(name, eval(*p));
  return a;
}

Template::Template(std::string_view source) : body_(parse(source)), source_(source) {}
Template Template::untried(std::string_view source) try { return Template(source); } catch (const ValueError& e) {
  Template t;
  t.source_ = source, t.error_ = e.what();
  return t;
}
std::string Template::render(const std::vector<std::pair<std::string, Value>>& names, int64_t now, const Limits& limits) const {
  DY_CHECK_AS(ValueError, body_, "{}", error_);
  return Interpreter(names, now, limits).render(*body_);
}

}  // namespace dyadic::inline v1::text::jinja
