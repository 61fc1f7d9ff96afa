// Running a regular expression.
#include "text/regex.h"

#include <algorithm>

#include "base/check.h"
#include "text/regex_program.h"

namespace dyadic::inline v1::text {
namespace {

constexpr uint64_t kStepsPerByte = 64, kStepsAtLeast = 1 << 20;  // the latter: 10 ms
constexpr int kDeepestLook = 64;

class Matcher {
  const Regex::Program& p_;
  std::string_view text_;
  uint64_t steps_;
  struct Choice {
    uint32_t pc;
    size_t at;
    size_t stop;  // a repeat gives back one character at a time until here; else equal to `at`
    uint32_t reg;
    size_t value;  // registers are put back; reg is kNone for the others
  };
  static constexpr uint32_t kNone = uint32_t(-1);
  std::vector<Choice> choices_;
  std::vector<size_t> registers_;

  bool char_at(size_t at, Char& c) const {
    if (at >= text_.size()) return false;
    const uint8_t b = uint8_t(text_[at]);
    c = b < 128 ? Char{b, 1} : decode_utf8(text_, at);
    return true;
  }
  bool word_before(size_t at) const { return at > 0 && word_characters().has(last_char(text_.substr(0, at)).code); }
  bool word_at(size_t at) const {
    Char c;
    return char_at(at, c) && word_characters().has(c.code);
  }
  bool asserts(Code code, size_t at) const {
    switch (code) {
      case Code::text_begin:
        return at == 0;
      case Code::line_begin:
        return at == 0 || text_[at - 1] == '\n';
      case Code::text_end:
        return at == text_.size();
      case Code::line_end:
        return at == text_.size() || text_[at] == '\n';
      case Code::word_edge:
        return word_before(at) != word_at(at);
      default:
        return word_before(at) == word_at(at);
    }
  }
  bool takes(const Instruction& i, char32_t c) const {
    switch (i.code) {
      case Code::character:
        return c == i.x;
      case Code::folded:
        return lower(c) == i.x || (i.x == 's' && c == 0x17f);  // the long s and the kelvin sign fold to ASCII
      case Code::set:
        return p_.sets[i.x].has(c);
      default:
        return c != '\n';
    }
  }
  // Back to the last choice above `base`; false if there is none.
  bool back(size_t base, uint32_t& pc, size_t& at) {
    while (choices_.size() > base) {
      Choice& c = choices_.back();
      if (c.reg != kNone) {
        registers_[c.reg] = c.value;
        choices_.pop_back();
        continue;
      }
      if (c.at > c.stop) c.at -= last_char(text_.substr(0, c.at)).size;
      pc = c.pc;
      at = c.at;
      if (c.at <= c.stop) choices_.pop_back();
      return true;
    }
    return false;
  }
  bool repeat(const Instruction& i, uint32_t next, size_t& at) {
    const CharSet& set = p_.sets[i.x];
    size_t least = at, end = at;
    uint32_t n = 0;
    for (Char c; char_at(end, c) && set.has(c.code); end += c.size)
      if (++n == i.y) least = end + c.size;
    if (n < i.y) return false;
    steps_ += n;
    if (!i.flag && end > least) choices_.push_back({next, end, least, kNone, 0});
    at = end;
    return true;
  }
  bool behind(uint32_t pc, size_t at, int depth) {
    const Instruction& i = p_.code[pc];
    registers_[p_.code[i.x - 2].x] = at;
    size_t from = at;
    for (uint32_t n = 0;; ++n) {
      if (size_t there = from; run(pc + 1, there, depth)) return true;
      if (n == i.y || from == 0) return false;
      from -= last_char(text_.substr(0, from)).size;
    }
  }

 public:
  Matcher(const Regex::Program& p, std::string_view text) : p_(p), text_(text), steps_(0), registers_(p.registers) {}

  bool run(uint32_t pc, size_t& at, int depth = 0) {
    DY_CHECK(depth < kDeepestLook, "regular expression: looks nested more than {} deep", kDeepestLook);
    const size_t base = choices_.size();
    for (;;) {
      DY_CHECK(++steps_ <= kStepsAtLeast + kStepsPerByte * text_.size(),
               "regular expression: a text of {} bytes takes more than {} steps", text_.size(), steps_ - 1);
      const Instruction& i = p_.code[pc];
      bool good = true;
      switch (i.code) {
        case Code::done:
          choices_.resize(base);
          return true;
        case Code::jump:
          pc = i.x;
          continue;
        case Code::split:
          choices_.push_back({i.y, at, at, kNone, 0});
          pc = i.x;
          continue;
        case Code::mark:
          choices_.push_back({0, 0, 0, i.x, registers_[i.x]});
          registers_[i.x] = at;
          break;
        case Code::empty_check:
          good = registers_[i.x] != at;
          break;
        case Code::reached:
          good = registers_[i.x] == at;
          break;
        case Code::behind:
        case Code::look:
        case Code::atomic: {
          size_t there = at;
          good = (i.code == Code::behind ? behind(pc, at, depth + 1) : run(pc + 1, there, depth + 1)) != i.flag;
          if (good && i.code == Code::atomic) at = there;
          if (good) {
            pc = i.x;
            continue;
          }
          break;
        }
        case Code::repeat:
          good = repeat(i, pc + 1, at);
          break;
        case Code::character:
        case Code::folded:
        case Code::set:
        case Code::any: {
          Char c;
          good = char_at(at, c) && takes(i, c.code);
          if (good) at += c.size;
          break;
        }
        default:
          good = asserts(i.code, at);
      }
      if (good)
        ++pc;
      else if (!back(base, pc, at))
        return false;
    }
  }
};

}  // namespace

bool CharSet::holds(char32_t c) const {
  const auto plain = [this](char32_t x) {
    for (auto [first, last] : ranges)
      if (x >= first && x <= last) return true;
    if (categories >> unsigned(category(x)) & 1) return true;
    if ((space && is_space(x)) || (alphabetic && is_alphabetic(x)) || (lowercase && is_lowercase(x)) ||
        (uppercase && is_uppercase(x)))
      return true;
    for (int s : scripts)
      if (in_script(x, s)) return true;
    for (const CharSet& s : inner)
      if (s.holds(x)) return true;
    return false;
  };
  bool in = plain(c);
  if (!in && fold) {
    in = plain(lower(c)) || (c == 0x17f && plain('s'));
    if (!in && c < 128 && is_letter(c)) in = plain(c ^ 32);
  }
  return in != negated;
}
void CharSet::finish() {
  for (CharSet& s : inner) s.finish();
  for (char32_t c = 0; c < 128; ++c) ascii[c] = holds(c);
}

Regex::Regex(std::string_view pattern) : program_(compile_regex(pattern)) {}
bool operator==(const Regex& a, const Regex& b) { return *a.program_ == *b.program_; }
std::optional<size_t> Regex::match(std::string_view text, size_t at) const {
  Matcher m(*program_, text);
  if (m.run(0, at)) return at;
  return {};
}
std::optional<Regex::Span> Regex::find(std::string_view text, size_t from) const {
  Matcher m(*program_, text);
  while (from <= text.size()) {
    size_t end = from;
    if (m.run(0, end)) return Span{from, end};
    if (from == text.size()) break;
    from += decode_utf8(text, from).size;
  }
  return {};
}

}  // namespace dyadic::inline v1::text
