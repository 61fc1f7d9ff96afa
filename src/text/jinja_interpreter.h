// Running a template: names, calls, and what is left of its budget.
#pragma once
#include <optional>
#include <unordered_map>

#include "text/jinja.h"
#include "text/jinja_syntax.h"

namespace dyadic::inline v1::text::jinja {

struct Args {
  List list;
  std::vector<std::pair<std::string, Value>> named;
  int line = 0;
  // Number i or by name; null: not given.
  const Value* get(size_t i, std::string_view name) const {
    if (i < list.size()) return &list[i];
    for (const auto& [n, v] : named)
      if (n == name) return &v;
    return nullptr;
  }
  const Value& need(size_t i, std::string_view name, std::string_view what) const {
    if (const Value* v = get(i, name)) return *v;
    wrong(line, "{}: the argument {} is missing", shown(what), name);
  }
};

class Interpreter {
  using Scope = std::unordered_map<std::string, Value>;
  std::vector<Scope> scopes_;
  size_t base_ = 0;  // names are looked for in the scopes from here on, and in the first
  std::string* out_ = nullptr;
  Limits left_;
  int depth_ = 0;
  std::vector<std::shared_ptr<Dict>> spaces_;  // namespaces may hold themselves and each other: they are emptied at the end
  int64_t now_;
  enum class Flow : uint8_t { on, stop, next };

  struct Deeper;
  Value find(const std::string& name) const;
  void write(const std::string& s, int line);
  Flow run(const Body& body);
  Flow run(const Statement& s);
  Flow run_loop(const Statement& s);
  void run_set(const Statement& s);
  void run_call(const Statement& s);
  void assign(const std::vector<std::string>& targets, const Value& v, int line);
  std::string captured(const Body& body);
  Args arguments(const Expr& e);
  Value eval_compare(const Expr& e);
  Value eval_chained(const Expr& e);
  Value compare(Op op, const Value& a, const Value& b, int line);
  Value eval_choice(const Expr& e);
  Value repeated(const Value& v, int64_t times, int line);
  Value arithmetic(Op op, const Value& a, const Value& b, int line);
  Value attribute(const Value& of, const std::string& name, bool method_first, int line);
  Value item(const Value& of, const Value& key, int line);
  Value slice(const Value& of, const Value* begin, const Value* end, const Value* step, int line);
  Value call_macro(const Macro& m, const Args& args, const Value* caller);
  Value call_global(const std::string& name, const Args& args);

 public:
  Interpreter(const std::vector<std::pair<std::string, Value>>& names, int64_t now, const Limits& limits);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  std::string render(const Body& body);

  void step(int line, uint64_t n = 1);
  void charge(uint64_t bytes, int line);  // for what a value of that size takes
  Value eval(const Expr& e);
  Value call(const Value& f, const Args& args, const Value* caller = nullptr);
  Value filter(const std::string& name, const Value& input, const Args& args);
  bool test(const std::string& name, const Value& input, const Args& args);
  Value method(const Value& self, const std::string& name, const Args& args);
  List items(const Value& v, int line);                            // what a loop goes over
  Value path(const Value& of, std::string_view dotted, int line);  // "a.b" of an item, as map(attribute=) has it
  std::optional<Value> list_filter(const std::string& name, const Value& input, const Args& args);
  Value select(const std::string& name, const Value& input, const Args& args);
  Value map(const Value& input, const Args& args);
};

bool has_method(const Value& v, std::string_view name);
bool contains(const Value& in, const Value& what, int line);
int64_t length_of(const Value& v, int line);
std::string stripped(std::string_view s, const Value* chars, bool left, bool right);
Value text_method(Interpreter& in, const std::string& self, const std::string& name, const Args& args);
std::string title_case(std::string_view s, bool filter);
void put(Dict& dict, const std::string& key, Value v);  // in the place of what it has by that key
std::string capitalized(std::string_view s);
std::string replaced(std::string_view s, std::string_view from, std::string_view to, int64_t most);

}  // namespace dyadic::inline v1::text::jinja
