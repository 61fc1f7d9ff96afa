// Expressions, with Jinja's precedence. What is not supported is named here, with its line.
#include "text/jinja_expressions.h"

#include <charconv>
#include <map>

namespace dyadic::inline v1::text::jinja {

ExprPtr make_expr(Op op, int line, std::string name) {
  auto e = std::make_unique<Expr>();
  e->op = op;
  e->line = line;
  e->name = std::move(name);
  return e;
}
ExprPtr finish(ExprPtr e) {
  for (const auto& p : e->parts)
    if (p) e->depth = std::max(e->depth, p->depth + 1);
  for (const auto& [name, p] : e->named) e->depth = std::max(e->depth, p->depth + 1);
  if (e->depth > kDeepest) wrong(e->line, "an expression of more than {} levels", kDeepest);
  return e;
}
namespace {
ExprPtr join(Op op, int line, ExprPtr a, ExprPtr b) {
  auto e = make_expr(op, line);
  e->parts.push_back(std::move(a));
  e->parts.push_back(std::move(b));
  return finish(std::move(e));
}
ExprPtr constant(Value v, int line) {
  auto e = make_expr(Op::constant, line);
  e->value = std::move(v);
  return e;
}

}  // namespace

ExprPtr Expressions::expression() {
  const Deeper deeper(*this);
  ExprPtr value = either();
  while (is_name("if")) {
    auto e = make_expr(Op::choice, line());
    ++at_;
    e->parts.push_back(either());
    e->parts.push_back(std::move(value));
    e->parts.push_back(take_name("else") ? expression() : nullptr);
    value = finish(std::move(e));
  }
  return value;
}
ExprPtr Expressions::either() {
  ExprPtr a = both();
  while (is_name("or")) {
    const int l = tokens_[at_++].line;
    a = join(Op::either, l, std::move(a), both());
  }
  return a;
}
ExprPtr Expressions::both() {
  ExprPtr a = inverted();
  while (is_name("and")) {
    const int l = tokens_[at_++].line;
    a = join(Op::both, l, std::move(a), inverted());
  }
  return a;
}
ExprPtr Expressions::inverted() {
  if (!is_name("not")) return comparison();
  const Deeper deeper(*this);
  auto e = make_expr(Op::invert, tokens_[at_++].line);
  e->parts.push_back(inverted());
  return finish(std::move(e));
}
bool Expressions::comparison_sign(Op& op) {
  static const std::map<std::string_view, Op> kSigns = {{"==", Op::equal},      {"!=", Op::unequal}, {"<", Op::less},
                                                        {"<=", Op::less_equal}, {">", Op::more},     {">=", Op::more_equal}};
  if (take_name("in")) return op = Op::in, true;
  if (is_name("not") && tokens_[at_ + 1].word == Word::name && tokens_[at_ + 1].text == "in")
    return at_ += 2, op = Op::not_in, true;
  auto at = now().word == Word::sign ? kSigns.find(now().text) : kSigns.end();
  if (at == kSigns.end()) return false;
  ++at_;
  op = at->second;
  return true;
}
ExprPtr Expressions::comparison() {
  ExprPtr a = sum();
  Op op{};
  const int l = line();
  if (!comparison_sign(op)) return a;
  a = join(op, l, std::move(a), sum());
  if (!comparison_sign(op)) return a;
  auto all = make_expr(Op::chained, l);  // a < b < c: as Python has it, b is evaluated once
  all->parts.push_back(std::move(a));
  do all->parts.push_back(join(op, line(), nullptr, sum()));
  while (comparison_sign(op));
  return finish(std::move(all));
}
template <class Next> ExprPtr Expressions::chain(std::initializer_list<std::pair<std::string_view, Op>> signs, Next next) {
  ExprPtr a = next();
  for (bool more = true; more;) {
    more = false;
    for (auto [sign, op] : signs)
      if (is(sign)) {
        const int l = tokens_[at_++].line;
        a = join(op, l, std::move(a), next());
        more = true;
        break;
      }
  }
  return a;
}
ExprPtr Expressions::sum() {
  return chain({{"+", Op::add}, {"-", Op::subtract}}, [&] {
    return chain({{"~", Op::concat}}, [&] {
      return chain({{"*", Op::multiply}, {"/", Op::divide}, {"//", Op::floor}, {"%", Op::modulo}},
                   [&] { return chain({{"**", Op::power}}, [&] { return unary(true); }); });
    });
  });
}
ExprPtr Expressions::unary(bool with_filters) {
  const Deeper deeper(*this);
  ExprPtr e;
  if (is("-") || is("+")) {
    e = make_expr(is("-") ? Op::negative : Op::positive, line());
    ++at_;
    e->parts.push_back(unary(false));
    e = finish(std::move(e));
  } else {
    e = primary();
  }
  e = postfix(std::move(e));
  return with_filters ? filters(std::move(e)) : std::move(e);
}
ExprPtr Expressions::number() {
  const Token& t = tokens_[at_++];
  const char *begin = t.text.data(), *end = begin + t.text.size();
  if (t.word == Word::integer) {
    int64_t i = 0;
    if (auto r = std::from_chars(begin, end, i); r.ec != std::errc() || r.ptr != end)
      wrong(t.line, "the number {} is too large", shown(t.text));
    return constant(i, t.line);
  }
  double d = 0;
  if (auto r = std::from_chars(begin, end, d); r.ec != std::errc() || r.ptr != end)
    wrong(t.line, "{} is not a number", shown(t.text));
  return constant(d, t.line);
}
ExprPtr Expressions::primary() {
  const int l = line();
  if (now().word == Word::string) {
    std::string s;
    while (now().word == Word::string) s += tokens_[at_++].text;
    return constant(std::move(s), l);
  }
  if (now().word == Word::integer || now().word == Word::number) return number();
  if (now().word == Word::name) {
    const std::string n = tokens_[at_++].text;
    if (n == "true" || n == "True") return constant(true, l);
    if (n == "false" || n == "False") return constant(false, l);
    if (n == "none" || n == "None") return constant(Value::none(), l);
    return make_expr(Op::name, l, n);
  }
  if (take("(")) return tuple(l);
  if (take("[")) {
    auto e = make_expr(Op::list, l);
    for (bool more = !take("]"); more;) {
      e->parts.push_back(expression());
      if (take("]")) break;
      expect(",");
      more = !take("]");
    }
    return finish(std::move(e));
  }
  if (!take("{")) wrong(l, "an expression is expected where {}", found());
  auto e = make_expr(Op::dict, l);
  for (bool more = !take("}"); more;) {
    e->parts.push_back(expression());
    expect(":");
    e->parts.push_back(expression());
    if (take("}")) break;
    expect(",");
    more = !take("}");
  }
  return finish(std::move(e));
}
ExprPtr Expressions::tuple(int l) {
  auto e = make_expr(Op::tuple, l);
  if (take(")")) return e;
  e->parts.push_back(expression());
  if (take(")")) return std::move(e->parts[0]);
  while (take(",") && !is(")")) e->parts.push_back(expression());
  expect(")");
  return finish(std::move(e));
}
void Expressions::arguments(Expr& e) {
  expect("(");
  for (bool more = !take(")"); more;) {
    if (is("*") || is("**")) wrong(line(), "* and ** before an argument are not supported");
    if (now().word == Word::name && tokens_[at_ + 1].word == Word::sign && tokens_[at_ + 1].text == "=") {
      std::string name = tokens_[at_].text;
      at_ += 2;
      e.named.emplace_back(std::move(name), expression());
    } else {
      if (!e.named.empty()) wrong(line(), "an argument without a name behind one with a name");
      e.parts.push_back(expression());
    }
    if (take(")")) break;
    expect(",");
    more = !take(")");
  }
}
ExprPtr Expressions::subscript(ExprPtr of) {
  const int l = line();
  auto e = make_expr(Op::item, l);
  e->parts.push_back(std::move(of));
  ExprPtr first = is(":") ? nullptr : expression();
  if (!is(":")) {
    e->parts.push_back(std::move(first));
  } else {
    e->op = Op::slice;
    e->parts.push_back(std::move(first));
    for (int i = 0; i < 2; ++i) e->parts.push_back(take(":") && !is(":") && !is("]") ? expression() : nullptr);
  }
  expect("]");
  return finish(std::move(e));
}
ExprPtr Expressions::postfix(ExprPtr e) {
  for (;;) {
    const int l = line();
    if (take(".")) {
      if (now().word == Word::integer) {
        e = join(Op::item, l, std::move(e), number());
        continue;
      }
      auto a = make_expr(Op::attribute, l, expect_name());
      a->parts.push_back(std::move(e));
      e = finish(std::move(a));
    } else if (take("[")) {
      e = subscript(std::move(e));
    } else if (is("(")) {
      auto c = make_expr(Op::call, l);
      c->parts.push_back(std::move(e));
      arguments(*c);
      e = finish(std::move(c));
    } else {
      return e;
    }
  }
}
ExprPtr Expressions::filter(ExprPtr input) {
  const int l = line();
  auto f = make_expr(Op::filter, l, expect_name());
  f->parts.push_back(std::move(input));
  if (is("(")) arguments(*f);
  return finish(std::move(f));
}
ExprPtr Expressions::test(ExprPtr input) {
  const int l = line();
  const bool negated = take_name("not");
  auto t = make_expr(Op::test, l, expect_name());
  t->parts.push_back(std::move(input));
  const bool operand = now().word == Word::string || now().word == Word::integer || now().word == Word::number || is("[") ||
                       is("{") ||
                       (now().word == Word::name && !is_name("else") && !is_name("or") && !is_name("and") && !is_name("if") &&
                        !is_name("is") && !is_name("in") && !is_name("not"));
  if (is("("))
    arguments(*t);
  else if (operand)
    t->parts.push_back(postfix(primary()));
  ExprPtr e = finish(std::move(t));
  if (!negated) return e;
  auto n = make_expr(Op::invert, l);
  n->parts.push_back(std::move(e));
  return finish(std::move(n));
}
ExprPtr Expressions::filters(ExprPtr e) {
  for (;;) {
    if (take("|"))
      e = filter(std::move(e));
    else if (take_name("is"))
      e = test(std::move(e));
    else if (is("("))
      e = postfix(std::move(e));
    else
      return e;
  }
}
ExprPtr Expressions::expressions() {
  ExprPtr first = expression();
  if (!is(",")) return first;
  auto e = make_expr(Op::tuple, line());
  e->parts.push_back(std::move(first));
  while (take(",") && now().word != Word::end_block) e->parts.push_back(expression());
  return finish(std::move(e));
}

}  // namespace dyadic::inline v1::text::jinja
