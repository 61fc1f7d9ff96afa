// From marks to statements and expressions, with Jinja's precedence. What is not supported is named here, with its line.
#include <algorithm>
#include <charconv>
#include <map>

#include "text/jinja_syntax.h"

namespace dyadic::inline v1::text::jinja {
namespace {

constexpr int kDeepest = 150;  // of expressions and of blocks: what runs them is recursive

class Parser {
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  int loops_ = 0;

  const Token& now() const { return tokens_[at_]; }
  int line() const { return now().line; }
  bool is(std::string_view sign) const { return now().word == Word::sign && now().text == sign; }
  bool is_name(std::string_view name) const { return now().word == Word::name && now().text == name; }
  bool take(std::string_view sign) { return is(sign) && ++at_; }
  bool take_name(std::string_view name) { return is_name(name) && ++at_; }
  std::string found() const {
    switch (now().word) {
      case Word::end:
        return "the template ends";
      case Word::end_block:
      case Word::end_print:
        return "the expression ends";
      case Word::text:
      case Word::begin_block:
      case Word::begin_print:
        return "text begins";
      default:
        return fmt::format("there is \"{}\"", shown(now().text));
    }
  }
  void expect(std::string_view sign) {
    if (!take(sign)) wrong(line(), "\"{}\" is expected where {}", sign, found());
  }
  std::string expect_name() {
    if (now().word != Word::name) wrong(line(), "a name is expected where {}", found());
    return tokens_[at_++].text;
  }
  void expect_end() {
    if (now().word != Word::end_block) wrong(line(), "the block does not end where {}", found());
    ++at_;
  }

  struct Deeper {
    Parser& p;
    explicit Deeper(Parser& parser) : p(parser) {
      if (++p.depth_ > kDeepest) wrong(p.line(), "nested more than {} deep", kDeepest);
    }
    ~Deeper() { --p.depth_; }
  };
  static ExprPtr make(Op op, int line, std::string name = {}) {
    auto e = std::make_unique<Expr>();
    e->op = op;
    e->line = line;
    e->name = std::move(name);
    return e;
  }
  static ExprPtr finish(ExprPtr e) {
    for (const auto& p : e->parts)
      if (p) e->depth = std::max(e->depth, p->depth + 1);
    for (const auto& [name, p] : e->named) e->depth = std::max(e->depth, p->depth + 1);
    if (e->depth > kDeepest) wrong(e->line, "an expression of more than {} levels", kDeepest);
    return e;
  }
  static ExprPtr join(Op op, int line, ExprPtr a, ExprPtr b) {
    auto e = make(op, line);
    e->parts.push_back(std::move(a));
    e->parts.push_back(std::move(b));
    return finish(std::move(e));
  }
  static ExprPtr constant(Value v, int line) {
    auto e = make(Op::constant, line);
    e->value = std::move(v);
    return e;
  }

  ExprPtr expression() {
    const Deeper deeper(*this);
    ExprPtr value = either();
    while (is_name("if")) {
      auto e = make(Op::choice, line());
      ++at_;
      e->parts.push_back(either());
      e->parts.push_back(std::move(value));
      e->parts.push_back(take_name("else") ? expression() : nullptr);
      value = finish(std::move(e));
    }
    return value;
  }
  ExprPtr either() {
    ExprPtr a = both();
    while (is_name("or")) {
      const int l = tokens_[at_++].line;
      a = join(Op::either, l, std::move(a), both());
    }
    return a;
  }
  ExprPtr both() {
    ExprPtr a = inverted();
    while (is_name("and")) {
      const int l = tokens_[at_++].line;
      a = join(Op::both, l, std::move(a), inverted());
    }
    return a;
  }
  ExprPtr inverted() {
    if (!is_name("not")) return comparison();
    const Deeper deeper(*this);
    auto e = make(Op::invert, tokens_[at_++].line);
    e->parts.push_back(inverted());
    return finish(std::move(e));
  }
  bool comparison_sign(Op& op) {
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
  ExprPtr comparison() {
    ExprPtr a = sum();
    Op op{};
    const int l = line();
    if (!comparison_sign(op)) return a;
    a = join(op, l, std::move(a), sum());
    if (comparison_sign(op)) wrong(l, "chained comparisons are not supported");
    return a;
  }
  template <class Next> ExprPtr chain(std::initializer_list<std::pair<std::string_view, Op>> signs, Next next) {
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
  ExprPtr sum() {
    return chain({{"+", Op::add}, {"-", Op::subtract}}, [&] {
      return chain({{"~", Op::concat}}, [&] {
        return chain({{"*", Op::multiply}, {"/", Op::divide}, {"//", Op::floor}, {"%", Op::modulo}},
                     [&] { return chain({{"**", Op::power}}, [&] { return unary(true); }); });
      });
    });
  }
  ExprPtr unary(bool with_filters) {
    const Deeper deeper(*this);
    ExprPtr e;
    if (is("-") || is("+")) {
      e = make(is("-") ? Op::negative : Op::positive, line());
      ++at_;
      e->parts.push_back(unary(false));
      e = finish(std::move(e));
    } else {
      e = primary();
    }
    e = postfix(std::move(e));
    return with_filters ? filters(std::move(e)) : std::move(e);
  }
  ExprPtr number() {
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
  ExprPtr primary() {
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
      return make(Op::name, l, n);
    }
    if (take("(")) return tuple(l);
    if (take("[")) {
      auto e = make(Op::list, l);
      for (bool more = !take("]"); more;) {
        e->parts.push_back(expression());
        if (take("]")) break;
        expect(",");
        more = !take("]");
      }
      return finish(std::move(e));
    }
    if (!take("{")) wrong(l, "an expression is expected where {}", found());
    auto e = make(Op::dict, l);
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
  ExprPtr tuple(int l) {
    auto e = make(Op::tuple, l);
    if (take(")")) return e;
    e->parts.push_back(expression());
    if (take(")")) return std::move(e->parts[0]);
    while (take(",") && !is(")")) e->parts.push_back(expression());
    expect(")");
    return finish(std::move(e));
  }
  void arguments(Expr& e) {
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
  ExprPtr subscript(ExprPtr of) {
    const int l = line();
    auto e = make(Op::item, l);
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
  ExprPtr postfix(ExprPtr e) {
    for (;;) {
      const int l = line();
      if (take(".")) {
        std::string name;
        if (now().word == Word::integer)
          name = tokens_[at_++].text;
        else
          name = expect_name();
        auto a = make(Op::attribute, l, std::move(name));
        a->parts.push_back(std::move(e));
        e = finish(std::move(a));
      } else if (take("[")) {
        e = subscript(std::move(e));
      } else if (is("(")) {
        auto c = make(Op::call, l);
        c->parts.push_back(std::move(e));
        arguments(*c);
        e = finish(std::move(c));
      } else {
        return e;
      }
    }
  }
  ExprPtr filter(ExprPtr input) {
    const int l = line();
    auto f = make(Op::filter, l, expect_name());
    f->parts.push_back(std::move(input));
    if (is("(")) arguments(*f);
    return finish(std::move(f));
  }
  ExprPtr test(ExprPtr input) {
    const int l = line();
    const bool negated = take_name("not");
    auto t = make(Op::test, l, expect_name());
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
    auto n = make(Op::invert, l);
    n->parts.push_back(std::move(e));
    return finish(std::move(n));
  }
  ExprPtr filters(ExprPtr e) {
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
  // Several expressions with commas between them are a tuple.
  ExprPtr expressions() {
    ExprPtr first = expression();
    if (!is(",")) return first;
    auto e = make(Op::tuple, line());
    e->parts.push_back(std::move(first));
    while (take(",") && now().word != Word::end_block) e->parts.push_back(expression());
    return finish(std::move(e));
  }

  std::vector<std::string> targets() {
    std::vector<std::string> names;
    const bool open = take("(");
    do names.push_back(expect_name());
    while (take(",") && now().word == Word::name && !is_name("in"));
    if (open) expect(")");
    return names;
  }
  static Statement statement(Do what, int line) {
    Statement s{};
    s.what = what;
    s.line = line;
    return s;
  }
  Statement set(int l) {
    Statement s = statement(Do::set, l);
    s.targets = targets();
    if (s.targets.size() == 1 && take(".")) {
      s.targets.push_back(expect_name());
      s.member = true;
    }
    if (take("=")) {
      s.expr = expressions();
      expect_end();
      return s;
    }
    s.what = Do::set_block;
    if (s.targets.size() != 1) wrong(l, "a block is set to one name");
    if (take("|")) s.expr = filters(filter(make(Op::name, l, "")));
    expect_end();
    s.body = body({"endset"}, l);
    ++at_;
    expect_end();
    return s;
  }
  Statement branch(int l) {
    Statement s = statement(Do::branch, l);
    s.branches.push_back({expression(), {}});
    expect_end();
    for (;;) {
      s.branches.back().body = body({"elif", "else", "endif"}, l);
      const std::string word = tokens_[at_++].text;
      if (word == "endif") break;
      if (!s.branches.back().condition) wrong(line(), "{} behind else", word);
      s.branches.push_back({word == "elif" ? expression() : nullptr, {}});
      expect_end();
    }
    expect_end();
    return s;
  }
  Statement loop(int l) {
    Statement s = statement(Do::loop, l);
    s.targets = targets();
    if (!take_name("in")) wrong(l, "for: \"in\" is expected where {}", found());
    s.expr = either();  // an `if` behind it is the loop's
    if (is(",")) {
      auto e = make(Op::tuple, l);
      e->parts.push_back(std::move(s.expr));
      while (take(",") && now().word != Word::end_block) e->parts.push_back(either());
      s.expr = finish(std::move(e));
    }
    if (take_name("if")) s.condition = expression();
    if (is_name("recursive")) wrong(l, "recursive loops are not supported");
    expect_end();
    ++loops_;
    s.body = body({"else", "endfor"}, l);
    --loops_;
    if (take_name("else")) {
      expect_end();
      s.otherwise = body({"endfor"}, l);
    }
    ++at_;
    expect_end();
    return s;
  }
  void parameters(Macro& m) {
    expect("(");
    for (bool more = !take(")"); more;) {
      m.parameters.push_back(expect_name());
      m.defaults.push_back(take("=") ? expression() : nullptr);
      if (take(")")) break;
      expect(",");
      more = !take(")");
    }
  }
  Statement macro(int l) {
    Statement s = statement(Do::macro, l);
    s.macro = std::make_shared<Macro>();
    s.macro->name = expect_name();
    parameters(*s.macro);
    expect_end();
    const int outer = std::exchange(loops_, 0);
    s.macro->body = body({"endmacro"}, l);
    loops_ = outer;
    ++at_;
    if (now().word == Word::name) ++at_;  // endmacro NAME
    expect_end();
    return s;
  }
  Statement call(int l) {
    Statement s = statement(Do::call, l);
    s.macro = std::make_shared<Macro>();
    s.macro->name = "caller";
    if (is("(")) parameters(*s.macro);
    s.expr = expression();
    if (s.expr->op != Op::call) wrong(l, "call: what is called is no call");
    expect_end();
    s.macro->body = body({"endcall"}, l);
    ++at_;
    expect_end();
    return s;
  }
  Statement block() {
    const Deeper deeper(*this);
    const int l = line();
    const std::string word = expect_name();
    if (word == "set") return set(l);
    if (word == "if") return branch(l);
    if (word == "for") return loop(l);
    if (word == "macro") return macro(l);
    if (word == "call") return call(l);
    if (word == "break" || word == "continue") {
      if (!loops_) wrong(l, "{} outside of a loop", word);
      expect_end();
      return statement(word == "break" ? Do::stop : Do::next, l);
    }
    if (word == "generation" || word == "filter") {
      Statement s = statement(word == "filter" ? Do::filter : Do::pass, l);
      if (word == "filter") s.expr = filters(filter(make(Op::name, l, "")));
      expect_end();
      s.body = body({word == "filter" ? "endfilter" : "endgeneration"}, l);
      ++at_;
      expect_end();
      return s;
    }
    if (word.starts_with("end") || word == "else" || word == "elif") wrong(l, "{} without what it ends", shown(word));
    wrong(l, "the block \"{}\" is not supported", shown(word));
  }
  // Up to a block that begins with one of `ends`; that word is the next mark then. None: to the template's end.
  Body body(std::initializer_list<std::string_view> ends, int opened) {
    Body b;
    for (;;) {
      const int l = line();
      switch (now().word) {
        case Word::end:
          if (ends.size()) wrong(opened, "\"{}\" is missing", *(ends.end() - 1));
          return b;
        case Word::text:
          b.list.push_back(statement(Do::text, l));
          b.list.back().text = std::move(tokens_[at_++].text);
          break;
        case Word::begin_print:
          ++at_;
          b.list.push_back(statement(Do::print, l));
          b.list.back().expr = expressions();
          if (now().word != Word::end_print) wrong(line(), "the expression does not end where {}", found());
          ++at_;
          break;
        default:
          ++at_;
          if (now().word == Word::name && std::find(ends.begin(), ends.end(), now().text) != ends.end()) return b;
          b.list.push_back(block());
      }
    }
  }

 public:
  explicit Parser(std::string_view source) : tokens_(cut(source)) {
    tokens_.push_back(tokens_.back());  // a look at the next one is always possible
  }
  std::shared_ptr<const Body> run() { return std::make_shared<const Body>(body({}, 1)); }
};

}  // namespace

std::shared_ptr<const Body> parse(std::string_view source) {
  constexpr size_t kLongest = 4 << 20;
  DY_CHECK_AS(ValueError, source.size() <= kLongest, "chat template: {} bytes are too long; the limit is {}", source.size(),
              kLongest);
  return Parser(source).run();
}

}  // namespace dyadic::inline v1::text::jinja
