// From marks to the statements of a template. What is not supported is named here, with its line.
#include <algorithm>

#include "text/jinja_expressions.h"

namespace dyadic::inline v1::text::jinja {
namespace {

class Parser : Expressions {
  int loops_ = 0;

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
    if (take("|")) s.expr = filters(filter(make_expr(Op::name, l, "")));
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
      auto e = make_expr(Op::tuple, l);
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
      if (word == "filter") s.expr = filters(filter(make_expr(Op::name, l, "")));
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
  explicit Parser(std::string_view source) : Expressions(source) {}
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
