// Cutting a template into text and marks. As transformers sets Jinja up: trim_blocks and lstrip_blocks are on, the last newline
// of the source is dropped.
#include <algorithm>

#include "text/jinja_syntax.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text::jinja {
namespace {

class Lexer {
  std::string source_;
  size_t at_ = 0;
  int line_ = 1;
  bool trim_all_ = false, trim_line_ = false;  // what the mark before this text asked for
  std::vector<Token> tokens_;

  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  void go(size_t to) {
    line_ += int(std::count(source_.begin() + std::ptrdiff_t(at_), source_.begin() + std::ptrdiff_t(to), '\n'));
    at_ = to;
  }
  // Text up to `end`, where a mark begins that is `block` (or a comment) and has `sign` behind its braces.
  void text(size_t end, bool block, char sign) {
    const int line = line_;
    std::string s = source_.substr(at_, end - at_);
    const bool begins_line = at_ == 0 || source_[at_ - 1] == '\n' || (trim_line_ && s.starts_with('\n'));
    if (trim_all_)
      s.erase(0, std::min(s.size(), s.find_first_not_of(" \t\n\r\v\f")));
    else if (trim_line_ && s.starts_with('\n'))
      s.erase(0, 1);
    if (sign == '-') {
      s.erase(s.find_last_not_of(" \t\n\r\v\f") + 1);
    } else if (block && sign != '+') {
      const size_t last = s.find_last_not_of(" \t\v\f");
      if (last == s.npos ? begins_line : s[last] == '\n') s.erase(last + 1);
    }
    trim_all_ = trim_line_ = false;
    if (!s.empty()) tokens_.push_back({Word::text, std::move(s), line});
    go(end);
  }
  void after_mark(char sign, bool block) {
    trim_all_ = sign == '-';
    trim_line_ = block && sign != '+';
  }
  void comment() {
    const size_t end = source_.find("#}", at_ + 2);
    if (end == source_.npos) wrong(line_, "a comment does not end");
    const char sign = source_[end - 1];
    go(end + 2);
    after_mark(sign, true);
  }
  // {% raw %}: what follows it is text up to {% endraw %}. False: it is another block.
  bool raw() {
    size_t i = at_ + 2;
    const auto blanks = [&] {
      while (i < source_.size() && (source_[i] == ' ' || source_[i] == '\n' || source_[i] == '\t')) ++i;
    };
    const auto sign = [&] { return i < source_.size() && (source_[i] == '-' || source_[i] == '+') ? source_[i++] : '\0'; };
    const auto is = [&](std::string_view word) {
      blanks();
      if (!std::string_view(source_).substr(i).starts_with(word)) return false;
      i += word.size();
      blanks();
      return true;
    };
    sign();
    if (!is("raw")) return false;
    char last = sign();
    if (!std::string_view(source_).substr(i).starts_with("%}")) return false;
    const int line = line_;
    go(i + 2);
    after_mark(last, true);
    for (size_t open = at_; (open = source_.find("{%", open)) != source_.npos; open += 2) {
      i = open + 2;
      const char first = sign();
      if (!is("endraw")) continue;
      last = sign();
      if (!std::string_view(source_).substr(i).starts_with("%}")) continue;
      const size_t behind = i + 2;
      text(open, true, first);
      go(behind);
      after_mark(last, true);
      return true;
    }
    wrong(line, "raw does not end");
  }
  std::string string_literal() {
    const char quote = source_[at_++];
    std::string out;
    for (; at_ < source_.size() && source_[at_] != quote; ++at_) {
      char c = source_[at_];
      if (c == '\n') ++line_;
      if (c != '\\') {
        out += c;
        continue;
      }
      if (++at_ == source_.size()) break;
      c = source_[at_];
      const auto hex = [&](size_t digits) {
        char32_t code = 0;
        for (size_t i = 1; i <= digits; ++i) {
          const char d = at_ + i < source_.size() ? source_[at_ + i] : 0;
          const int v = d >= '0' && d <= '9' ? d - '0' : (d | 32) >= 'a' && (d | 32) <= 'f' ? (d | 32) - 'a' + 10 : -1;
          if (v < 0) wrong(line_, "\\{} without {} hexadecimal digits", c, digits);
          code = code * 16 + char32_t(v);
        }
        at_ += digits;
        append_utf8(out, code < kBadByte ? code : 0xfffd);
      };
      constexpr std::string_view kFrom = "ntrfvba0", kTo("\n\t\r\f\v\b\a\0", 8);
      if (c == 'x' || c == 'u' || c == 'U')
        hex(c == 'x' ? 2 : c == 'u' ? 4 : 8);
      else if (const size_t k = kFrom.find(c); k != kFrom.npos)
        out += kTo[k];
      else if (c == '\\' || c == '\'' || c == '"')
        out += c;
      else if (c != '\n')
        out += {'\\', c};
    }
    if (at_ >= source_.size()) wrong(line_, "a text does not end");
    ++at_;
    return out;
  }
  void number() {
    const size_t begin = at_;
    const auto digits = [&] {
      while (at_ < source_.size() && ((source_[at_] >= '0' && source_[at_] <= '9') || source_[at_] == '_')) ++at_;
    };
    digits();
    Word word = Word::integer;
    if (at_ + 1 < source_.size() && source_[at_] == '.' && source_[at_ + 1] >= '0' && source_[at_ + 1] <= '9') {
      word = Word::number;
      ++at_;
      digits();
    }
    if (at_ < source_.size() && (source_[at_] | 32) == 'e') {
      word = Word::number;
      ++at_;
      if (at_ < source_.size() && (source_[at_] == '-' || source_[at_] == '+')) ++at_;
      digits();
    }
    std::string s = source_.substr(begin, at_ - begin);
    std::erase(s, '_');
    tokens_.push_back({word, std::move(s), line_});
  }
  void mark(bool block) {
    const int open = line_;
    tokens_.push_back({block ? Word::begin_block : Word::begin_print, "", line_});
    at_ += 2;
    if (at_ < source_.size() && (source_[at_] == '-' || (block && source_[at_] == '+'))) ++at_;
    const std::string_view close = block ? "%}" : "}}";
    int braces = 0;
    for (;;) {
      if (at_ >= source_.size()) wrong(open, "{} does not end", block ? "a block" : "an expression");
      const char c = source_[at_];
      if (c == '\n') ++line_;
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        ++at_;
        continue;
      }
      const bool sign = (c == '-' || (block && c == '+')) && rest().substr(1).starts_with(close);
      if ((sign || rest().starts_with(close)) && braces == 0) {
        at_ += sign ? 3 : 2;
        tokens_.push_back({block ? Word::end_block : Word::end_print, "", line_});
        return after_mark(sign ? c : '\0', block);
      }
      if (c == '\'' || c == '"') {
        const int line = line_;
        tokens_.push_back({Word::string, string_literal(), line});
      } else if (c >= '0' && c <= '9') {
        number();
      } else if (const Char first = decode_utf8(source_, at_); is_letter(first.code) || c == '_') {
        const size_t begin = at_;
        for (Char k; at_ < source_.size() && is_word((k = decode_utf8(source_, at_)).code);) at_ += k.size;
        tokens_.push_back({Word::name, source_.substr(begin, at_ - begin), line_});
      } else {
        std::string s(1, c);
        for (std::string_view two : {"==", "!=", "<=", ">=", "//", "**"})
          if (rest().starts_with(two)) s = two;
        if (s.size() == 1 && std::string_view("+-*/%~<>=|.,:()[]{}").find(c) == std::string_view::npos)
          wrong(line_, "\"{}\" is not expected", shown(std::string_view(source_).substr(at_, first.size)));
        braces += s == "{" || s == "[" || s == "(" ? 1 : s == "}" || s == "]" || s == ")" ? -1 : 0;
        at_ += s.size();
        tokens_.push_back({Word::sign, std::move(s), line_});
      }
    }
  }

 public:
  explicit Lexer(std::string_view source) {
    for (size_t i = 0; i < source.size(); ++i)
      if (source[i] != '\r')
        source_ += source[i];
      else if (i + 1 == source.size() || source[i + 1] != '\n')
        source_ += '\n';
    if (source_.ends_with('\n')) source_.pop_back();
  }
  std::vector<Token> run() {
    while (at_ < source_.size()) {
      size_t open = at_;
      while ((open = source_.find('{', open)) != source_.npos && open + 1 < source_.size() &&
             std::string_view("{%#").find(source_[open + 1]) == std::string_view::npos)
        ++open;
      if (open == source_.npos || open + 1 >= source_.size()) {
        text(source_.size(), false, '\0');
        break;
      }
      const char kind = source_[open + 1], sign = open + 2 < source_.size() ? source_[open + 2] : '\0';
      text(open, kind != '{', sign);
      if (kind == '#')
        comment();
      else if (kind == '{' || !raw())
        mark(kind == '%');
    }
    tokens_.push_back({Word::end, "", line_});
    return std::move(tokens_);
  }
};

}  // namespace

std::vector<Token> cut(std::string_view source) { return Lexer(source).run(); }

std::string shown(std::string_view name) {
  std::string s = valid_utf8(name.substr(0, 80));
  for (char& c : s)
    if (uint8_t(c) < 32) c = ' ';
  return s;
}

}  // namespace dyadic::inline v1::text::jinja
