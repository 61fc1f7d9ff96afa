#include "einops/pattern.h"

#include <cctype>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/check.h"

namespace dyadic::inline v1::einops {
namespace {

class Parser {
  const char* who_;
  std::string_view pattern_, rest_;

 public:
  Parser(const char* who, std::string_view pattern, std::string_view side) : who_(who), pattern_(pattern), rest_(side) {}

  Side side() {
    Side groups;
    bool inside = false, dots = false;
    while (skip_spaces(), !rest_.empty()) {
      const char c = rest_[0];
      if (c == '(') {
        if (inside) wrong("parentheses in parentheses");
        inside = true;
        groups.push_back({{}, true});
        rest_.remove_prefix(1);
      } else if (c == ')') {
        if (!inside) wrong("a \")\" without its \"(\"");
        inside = false;
        rest_.remove_prefix(1);
      } else {
        Axis axis = word();
        if (axis.ellipsis() && dots) wrong("two \"...\" on one side");
        dots |= axis.ellipsis();
        if (!inside) groups.push_back({});
        groups.back().axes.push_back(std::move(axis));
      }
    }
    if (inside) wrong("a \"(\" without its \")\"");
    check_names(groups);
    return groups;
  }

 private:
  [[noreturn]] void wrong(const std::string& why) const { fail("{}: a wrong pattern: \"{}\": {}", who_, pattern_, why); }
  void skip_spaces() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }
  Axis word() {
    if (rest_.starts_with("...")) {
      rest_.remove_prefix(3);
      return {"..."};
    }
    if (rest_.starts_with("*")) {
      rest_.remove_prefix(1);
      return {"*"};
    }
    size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) || rest_[n] == '_')) ++n;
    if (n == 0) wrong(fmt::format("\"{}\" has no meaning here", rest_[0]));
    const std::string text(rest_.substr(0, n));
    rest_.remove_prefix(n);
    if (!std::isdigit(static_cast<unsigned char>(text[0]))) return {text};
    int64_t number = 0;
    for (char c : text) {
      if (!std::isdigit(static_cast<unsigned char>(c)) || number > (int64_t{1} << 40))
        wrong(fmt::format("\"{}\" is neither a name nor a size", text));
      number = 10 * number + (c - '0');
    }
    return {"", number};
  }
  void check_names(const Side& groups) const {
    std::vector<std::string> seen;
    for (const Group& g : groups)
      for (const Axis& a : g.axes) {
        if (a.name.empty() || a.name == "_") continue;
        for (const std::string& s : seen)
          if (s == a.name) wrong(fmt::format("\"{}\" stands twice on one side", s));
        seen.push_back(a.name);
      }
  }
};

}  // namespace

Side parse_side(const char* who, std::string_view pattern, std::string_view side) { return Parser(who, pattern, side).side(); }

const Pattern& parse(const char* who, std::string_view text) {
  static std::mutex mutex;
  static auto& known = *new std::unordered_map<std::string, std::unique_ptr<Pattern>>;
  {
    std::lock_guard lock(mutex);
    if (auto it = known.find(std::string(text)); it != known.end()) return *it->second;
  }
  const size_t arrow = text.find("->");
  DY_CHECK(arrow != text.npos && text.find("->", arrow + 2) == text.npos, "{}: a wrong pattern: \"{}\": it needs one \"->\"",
           who, text);
  auto p = std::make_unique<Pattern>();
  p->text = text;
  p->left = parse_side(who, text, text.substr(0, arrow));
  p->right = parse_side(who, text, text.substr(arrow + 2));
  for (const Group& g : p->left)
    for (const Axis& a : g.axes)
      DY_CHECK(!(g.composed && a.ellipsis()), "{}: a wrong pattern: \"{}\": \"...\" in parentheses belongs on the right", who,
               text);
  std::lock_guard lock(mutex);
  return *known.emplace(p->text, std::move(p)).first->second;
}

}  // namespace dyadic::inline v1::einops
