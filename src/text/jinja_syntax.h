// What a template is made of: its pieces of text and marks, its expressions and statements.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_value.h"

namespace dyadic::inline v1::text::jinja {

template <class... A> [[noreturn, gnu::cold]] void wrong(int line, fmt::format_string<A...> text, A&&... args) {
  fail<ValueError>("chat template, line {}: {}", line, fmt::format(text, std::forward<A>(args)...));
}
std::string shown(std::string_view name);  // fit for a message: valid UTF-8, not too long

enum class Word : uint8_t { text, begin_block, end_block, begin_print, end_print, name, string, integer, number, sign, end };
struct Token {
  Word word;
  std::string text;
  int line;
};
std::vector<Token> cut(std::string_view source);

enum class Op : uint8_t {
  constant,
  name,
  list,
  tuple,
  dict,
  attribute,
  item,
  slice,
  call,
  filter,
  test,
  negative,
  positive,
  invert,
  either,
  both,
  choice,
  concat,
  add,
  subtract,
  multiply,
  divide,
  floor,
  modulo,
  power,
  equal,
  unequal,
  less,
  less_equal,
  more,
  more_equal,
  in,
  not_in,
  chained
};
struct Expr;
using ExprPtr = std::unique_ptr<Expr>;
// parts: operands in order; of a call, filter or test the callee or input, then the arguments; an absent part is null. Of
// chained its comparisons, all but the first without their left side.
struct Expr {
  Op op;
  int line;
  std::string name;
  Value value;
  std::vector<ExprPtr> parts;
  std::vector<std::pair<std::string, ExprPtr>> named;
  int depth = 1;
};

struct Statement;
struct Body {
  std::vector<Statement> list;
};
struct Macro {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<ExprPtr> defaults;  // null: none
  Body body;
  bool reads_caller = false;
};
enum class Do : uint8_t { text, print, set, set_block, branch, loop, macro, call, filter, pass, stop, next };
struct Branch {
  ExprPtr condition;  // null: else
  Body body;
};
struct Statement {
  Do what;
  int line;
  std::string text;                  // of text
  std::vector<std::string> targets;  // of set and loop; "ns.x" is written as two with `member`
  bool member = false;
  ExprPtr expr, condition;  // what is printed, set, looped over, called; the loop's `if`
  Body body, otherwise;
  std::vector<Branch> branches;
  std::shared_ptr<Macro> macro;
};
std::shared_ptr<const Body> parse(std::string_view source);

}  // namespace dyadic::inline v1::text::jinja
