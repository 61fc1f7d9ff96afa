// The marks of a template as they are read, and the part of the parser that makes expressions of them.
#pragma once
#include "text/jinja_syntax.h"

namespace dyadic::inline v1::text::jinja {

inline constexpr int kDeepest = 150;  // of expressions and of blocks: what runs them is recursive

ExprPtr make_expr(Op op, int line, std::string name = {});
ExprPtr finish(ExprPtr e);  // with its parts in place: how deep it is

class Marks {
 protected:
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;

  explicit Marks(std::string_view source) : tokens_(cut(source)) {
    tokens_.push_back(tokens_.back());  // a look at the next one is always possible
  }

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
    Marks& p;
    explicit Deeper(Marks& marks) : p(marks) {
      if (++p.depth_ > kDeepest) wrong(p.line(), "nested more than {} deep", kDeepest);
    }
    ~Deeper() { --p.depth_; }
  };
};

// With Jinja's precedence.
class Expressions : protected Marks {
  ExprPtr both();
  ExprPtr inverted();
  bool comparison_sign(Op& op);
  ExprPtr comparison();
  template <class Next> ExprPtr chain(std::initializer_list<std::pair<std::string_view, Op>> signs, Next next);
  ExprPtr sum();
  ExprPtr unary(bool with_filters);
  ExprPtr number();
  ExprPtr primary();
  ExprPtr tuple(int l);
  void arguments(Expr& e);
  ExprPtr subscript(ExprPtr of);
  ExprPtr postfix(ExprPtr e);
  ExprPtr test(ExprPtr input);

 protected:
  using Marks::Marks;
  ExprPtr expression();
  ExprPtr either();
  ExprPtr filter(ExprPtr input);
  ExprPtr filters(ExprPtr e);
  // Several expressions with commas between them are a tuple.
  ExprPtr expressions();
};

}  // namespace dyadic::inline v1::text::jinja
