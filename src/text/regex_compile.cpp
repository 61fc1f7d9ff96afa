// Reading a regular expression. The syntax is Oniguruma's and Rust's as far as they agree.
#include <algorithm>
#include <array>

#include "base/check.h"
#include "text/regex_program.h"

namespace dyadic::inline v1::text {
namespace {

constexpr int kDeepestGroup = 40;
constexpr size_t kLongest = 100000;  // instructions; a counted repeat writes its body so many times

class Compiler {
  std::string_view pattern_;
  size_t at_ = 0;
  int depth_ = 0, alternatives_ = 0;
  bool fold_ = false;
  Regex::Program p_;
  using Code_ = std::vector<Instruction>;  // jumps are relative to their own place until the end

  template <class... A> [[noreturn]] void wrong(fmt::format_string<A...> text, A&&... args) const {
    fail<ValueError>("regular expression \"{}\": at {}: {}", valid_utf8(pattern_.substr(0, 200)), at_,
                     fmt::format(text, std::forward<A>(args)...));
  }
  bool more() const { return at_ < pattern_.size(); }
  bool take(std::string_view s) {
    if (!pattern_.substr(at_).starts_with(s)) return false;
    at_ += s.size();
    return true;
  }
  char32_t next() {
    if (!more()) wrong("it ends too early");
    const Char c = decode_utf8(pattern_, at_);
    at_ += c.size;
    return c.code;
  }

  static Code_ one(Instruction i) { return {i}; }
  static void append(Code_& a, const Code_& b) { a.insert(a.end(), b.begin(), b.end()); }
  Code_ set_code(CharSet s, bool fold) {
    s.fold = fold;
    s.finish();
    p_.sets.push_back(std::move(s));
    return one({Code::set, uint32_t(p_.sets.size() - 1)});
  }
  Code_ literal(char32_t c) const { return one(fold_ ? Instruction{Code::folded, lower(c)} : Instruction{Code::character, c}); }

  void property(CharSet& s, bool negated) {
    std::string name;
    if (take("{")) {
      if (take("^")) negated = !negated;
      while (!take("}")) append_utf8(name, next());
    } else {
      append_utf8(name, next());
    }
    auto set = property_class(name);
    if (!set) wrong("\\p{{{}}} is not supported", valid_utf8(name));
    add(s, std::move(*set), negated);
  }
  // A class beside what is in a set already.
  static void add(CharSet& s, CharSet more, bool negated) {
    if (negated || !more.inner.empty()) {
      more.negated = negated;
      return s.inner.push_back(std::move(more));
    }
    s.ranges.insert(s.ranges.end(), more.ranges.begin(), more.ranges.end());
    s.scripts.insert(s.scripts.end(), more.scripts.begin(), more.scripts.end());
    s.categories |= more.categories;
    s.space |= more.space, s.alphabetic |= more.alphabetic;
    s.lowercase |= more.lowercase, s.uppercase |= more.uppercase;
  }
  char32_t hex(size_t digits) {
    const bool braces = take("{");
    char32_t c = 0;
    for (size_t i = 0; braces ? !take("}") : i < digits; ++i) {
      const char32_t d = next();
      const char32_t l = d | 32;
      if (i == 8 || !(d - '0' < 10 || l - 'a' < 6)) wrong("not a hexadecimal number");
      c = c * 16 + (d - '0' < 10 ? d - '0' : l - 'a' + 10);
    }
    return c;
  }
  // Behind a backslash: a set (true), or a character.
  bool escape(CharSet& s, char32_t& c) {
    c = next();
    switch (c) {
      case 'p':
      case 'P':
        return property(s, c == 'P'), true;
      case 's':
      case 'S':
        return add(s, *posix_class("space"), c == 'S'), true;
      case 'w':
      case 'W':
        return add(s, *posix_class("word"), c == 'W'), true;
      case 'd':
      case 'D':
        return add(s, *posix_class("digit"), c == 'D'), true;
      case 'h':
      case 'H':
        return add(s, *posix_class("xdigit"), c == 'H'), true;
      case 'n':
      case 'r':
      case 't':
      case 'f':
      case 'v':
        c = c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c == 'f' ? '\f' : '\v';
        return false;
      case 'x':
        return c = hex(2), false;
      case 'u':
        return c = hex(4), false;
      default:
        if (is_letter(c) || is_number(c)) {
          std::string name;
          append_utf8(name, c);
          wrong("\\{} is not supported", valid_utf8(name));
        }
        return false;
    }
  }
  CharSet char_class() {
    if (++depth_ > kDeepestGroup) wrong("nested too deep");
    const bool negated = take("^");
    std::vector<CharSet> parts(1);
    for (bool first = true; first || !take("]"); first = false) {
      if (take("&&")) {
        parts.emplace_back();
        continue;
      }
      CharSet& s = parts.back();
      if (bracketed_class(s)) continue;
      if (take("[")) {
        s.inner.push_back(char_class());
        continue;
      }
      char32_t low = next();
      if (low == '\\' && escape(s, low)) continue;
      char32_t high = low;
      if (pattern_.substr(at_).starts_with("-") && !pattern_.substr(at_).starts_with("-]")) {
        ++at_;
        CharSet none;
        high = next();
        if (high == '\\' && escape(none, high)) wrong("a range that ends in a class");
        if (high < low) wrong("a range that ends before it begins");
      }
      s.ranges.emplace_back(low, high);
    }
    --depth_;
    return in_all(std::move(parts), negated);
  }
  // [:name:] or [:^name:]; what does not end so is a class in a class.
  bool bracketed_class(CharSet& s) {
    const std::string_view rest = pattern_.substr(at_);
    const size_t end = rest.find(":]");
    if (!rest.starts_with("[:") || end == rest.npos || end > 20) return false;
    std::string_view name = rest.substr(2, end - 2);
    const bool negated = name.starts_with('^');
    if (negated) name.remove_prefix(1);
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != name.npos) return false;
    auto set = posix_class(name);
    if (!set) wrong("[:{}:] is not supported", name);
    add(s, std::move(*set), negated);
    at_ += end + 2;
    return true;
  }
  // What is in each of the parts: not what is outside one.
  static CharSet in_all(std::vector<CharSet> parts, bool negated) {
    if (parts.size() == 1) {
      parts[0].negated = negated;
      return std::move(parts[0]);
    }
    CharSet all;
    all.negated = !negated;
    for (CharSet& part : parts) part.negated = true;
    all.inner = std::move(parts);
    return all;
  }

  // How many characters it can take.
  static uint32_t longest(const Code_& body) {
    uint32_t n = 0;
    for (const Instruction& i : body) {
      if (i.code == Code::repeat || (i.code == Code::jump && int32_t(i.x) < 0)) return uint32_t(-1);
      n += i.code == Code::character || i.code == Code::folded || i.code == Code::set || i.code == Code::any;
    }
    return n;
  }
  Code_ group() {
    if (++depth_ > kDeepestGroup) wrong("nested too deep");
    const bool outer = fold_;
    Code_ out;
    if (take("?=") || take("?!") || take("?>")) {
      const char kind = pattern_[at_ - 1];
      Code_ body = alternatives();
      out = one({kind == '>' ? Code::atomic : Code::look, uint32_t(body.size() + 2), 0, kind == '!'});
      append(out, body);
      out.push_back({Code::done});
    } else if (take("?<=") || take("?<!")) {
      const bool negated = pattern_[at_ - 1] == '!';
      const Code_ body = alternatives();
      out = one({Code::behind, uint32_t(body.size() + 3), longest(body), negated});
      append(out, body);
      out.push_back({Code::reached, p_.registers++});
      out.push_back({Code::done});
    } else {
      if (take("?<")) {  // a name
        while (next() != '>') {}
      } else if (take("?")) {
        for (bool on = true; !take(":");) {
          if (take(")")) return --depth_, Code_{};  // (?i) holds to the end of what is around it
          const char32_t c = next();
          if (c == '-')
            on = false;
          else if (c == 'i')
            fold_ = on;
          else if (c != 'u' && c != 'm')
            wrong("only the flag i is supported");
        }
      }
      out = alternatives();
    }
    if (!take(")")) wrong("a group that does not end");
    fold_ = outer;
    --depth_;
    return out;
  }
  Code_ atom() {
    const char32_t c = next();
    switch (c) {
      case '(':
        return group();
      case '[':
        return set_code(char_class(), fold_);
      case '.':
        return one({Code::any});
      case '^':
        return one({Code::line_begin});
      case '$':
        return one({Code::line_end});
      case '\\': {
        if (take("b")) return one({Code::word_edge});
        if (take("B")) return one({Code::not_word_edge});
        if (take("A")) return one({Code::text_begin});
        if (take("z")) return one({Code::text_end});
        CharSet s;
        char32_t code = 0;
        if (take("w") || take("W")) {
          s = word_characters();
          s.negated = pattern_[at_ - 1] == 'W';
          return set_code(s, false);
        }
        if (escape(s, code)) return set_code(s, false);
        return literal(code);
      }
      case '*':
      case '+':
      case '?':
        --at_;
        wrong("nothing to repeat");
      default:
        return literal(c);
    }
  }

  bool counts(uint32_t& low, uint32_t& high) {
    constexpr uint32_t kMany = 1000;
    if (take("*")) return low = 0, high = uint32_t(-1), true;
    if (take("+")) return low = 1, high = uint32_t(-1), true;
    if (take("?")) return low = 0, high = 1, true;
    if (!pattern_.substr(at_).starts_with("{")) return false;
    const size_t begin = at_++;
    const auto number = [&](uint32_t& n) {
      const size_t from = at_;
      for (n = 0; more() && pattern_[at_] >= '0' && pattern_[at_] <= '9'; ++at_)
        n = std::min(kMany + 1, n * 10 + uint32_t(pattern_[at_] - '0'));
      return at_ > from;
    };
    const bool has_low = number(low);
    high = low;
    if (take(",") && !number(high)) high = uint32_t(-1);
    if (!take("}") || (!has_low && high == uint32_t(-1))) return at_ = begin, false;
    if (low > kMany || (high != uint32_t(-1) && (high > kMany || high < low))) wrong("a repeat of {} to {}", low, high);
    return true;
  }
  // x? and x*, greedy or lazy; the body of x* must take something each time.
  Code_ optional(const Code_& body, bool lazy, bool loop) {
    Code_ inner;
    if (loop) inner.push_back({Code::mark, p_.registers});
    append(inner, body);
    if (loop) inner.push_back({Code::empty_check, p_.registers++});
    const uint32_t past = uint32_t(inner.size()) + (loop ? 2 : 1);
    Code_ out = one(lazy ? Instruction{Code::split, past, 1} : Instruction{Code::split, 1, past});
    append(out, inner);
    if (loop) out.push_back({Code::jump, uint32_t(-int32_t(inner.size()) - 1)});
    return out;
  }
  Code_ repeated(const Code_& body, uint32_t low, uint32_t high, bool lazy, bool possessive) {
    const bool endless = high == uint32_t(-1);
    if (endless && !lazy && body.size() == 1 && (body[0].code == Code::set || body[0].code == Code::character)) {
      uint32_t number = body[0].x;
      if (body[0].code == Code::character) {
        CharSet s;
        s.ranges = {{number, number}};
        s.finish();
        p_.sets.push_back(s);
        number = uint32_t(p_.sets.size() - 1);
      }
      return one({Code::repeat, number, low, possessive});
    }
    if ((uint64_t(endless ? low + 1 : high)) * (body.size() + 1) > kLongest) wrong("it becomes too long");
    Code_ out;
    for (uint32_t i = 0; i < low; ++i) append(out, body);
    if (endless) {
      append(out, optional(body, lazy, true));
    } else {
      Code_ rest;  // x{0,3} is (x(xx?)?)?
      for (uint32_t i = low; i < high; ++i) {
        Code_ inner = body;
        append(inner, rest);
        rest = optional(inner, lazy, false);
      }
      append(out, rest);
    }
    if (!possessive) return out;
    Code_ whole = one({Code::atomic, uint32_t(out.size() + 2), 0});
    append(whole, out);
    whole.push_back({Code::done});
    return whole;
  }
  Code_ sequence() {
    Code_ out;
    while (more() && pattern_[at_] != '|' && pattern_[at_] != ')') {
      Code_ piece = atom();
      for (uint32_t low = 0, high = 0; counts(low, high);) {
        const bool lazy = take("?");
        // In Oniguruma x{2,3}+ repeats x{2,3}; only a possessive + behind *, + and ? is one.
        const bool possessive = !lazy && pattern_[at_ - 1] != '}' && take("+");
        piece = repeated(piece, low, high, lazy, possessive);
      }
      append(out, piece);
      if (out.size() > kLongest) wrong("it becomes too long");
    }
    return out;
  }
  Code_ alternatives() {
    Code_ out = sequence();
    if (!take("|")) return out;
    if (++alternatives_ > 2000) wrong("too many alternatives");
    const Code_ rest = alternatives();
    --alternatives_;
    Code_ both = one({Code::split, 1, uint32_t(out.size() + 2)});
    append(both, out);
    both.push_back({Code::jump, uint32_t(rest.size() + 1)});
    append(both, rest);
    return both;
  }

 public:
  explicit Compiler(std::string_view pattern) : pattern_(pattern) {}
  std::shared_ptr<const Regex::Program> compile() {
    p_.code = alternatives();
    if (more()) wrong("a parenthesis that nothing opened");
    p_.code.push_back({Code::done});
    for (uint32_t i = 0; i < p_.code.size(); ++i) {
      Instruction& c = p_.code[i];
      if (c.code == Code::split || c.code == Code::jump || c.code == Code::look || c.code == Code::behind ||
          c.code == Code::atomic)
        c.x += i;
      if (c.code == Code::split) c.y += i;
    }
    return std::make_shared<const Regex::Program>(std::move(p_));
  }
};

}  // namespace

std::shared_ptr<const Regex::Program> compile_regex(std::string_view pattern) {
  DY_CHECK_AS(ValueError, pattern.size() <= 20000, "regular expression: {} bytes are too long", pattern.size());
  return Compiler(pattern).compile();
}

}  // namespace dyadic::inline v1::text
