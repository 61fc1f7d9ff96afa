// The numbers and texts of pickles, in binary and in digits.
#include <bit>
#include <charconv>

#include "io/bad_file.h"
#include "io/pickle.h"

namespace dyadic::inline v1::io {

using Kind = Value::Kind;

static bool is_utf8(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    const auto c = uint8_t(s[i]);
    const size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (n == 0 || n > s.size() - i) return false;
    for (size_t k = 1; k < n; ++k)
      if ((uint8_t(s[i + k]) & 0xc0) != 0x80) return false;
    if (n == 3 && c == 0xe0 && uint8_t(s[i + 1]) < 0xa0) return false;
    if (n == 4 && ((c == 0xf0 && uint8_t(s[i + 1]) < 0x90) || (c == 0xf4 && uint8_t(s[i + 1]) > 0x8f))) return false;
    i += n;
  }
  return true;
}

// Python 2's strings are texts if they are UTF-8, else bytes. Halves of surrogate pairs are let through: Python writes them.
void Pickle::push_text(std::string_view text, bool may_be_bytes) {
  const bool valid = is_utf8(text);
  if (!valid && !may_be_bytes) wrong("a text is not UTF-8");
  Value v{std::string(text)};
  if (!valid) v.node()->kind = Kind::bytes;
  stack_.push_back(std::move(v));
}

void Pickle::push_integer(std::string_view b) {
  while (b.size() > 8 && ((b.back() == '\0' && b[b.size() - 2] >= 0) || (b.back() == '\xff' && b[b.size() - 2] < 0)))
    b.remove_suffix(1);
  if (b.size() > 8) {
    Value v{std::string(b)};
    v.node()->kind = Kind::big;
    stack_.push_back(std::move(v));
    return;
  }
  uint64_t n = !b.empty() && b.back() < 0 ? ~uint64_t(0) : 0;
  for (size_t i = b.size(); i-- > 0;) n = n << 8 | uint8_t(b[i]);
  stack_.emplace_back(int64_t(n));
}

// Digits beyond 64 bits, as bytes from the lowest on, two's complement.
static std::string big_number(std::string_view digits, bool negative) {
  std::string out(1, '\0');
  for (const char digit : digits) {
    int carry = digit - '0';
    for (char& c : out) {
      carry += uint8_t(c) * 10;
      c = char(carry & 255);
      carry >>= 8;
    }
    if (carry) out += char(carry);
  }
  out += '\0';  // the sign
  int carry = 1;
  for (size_t i = 0; negative && i < out.size(); ++i) {
    carry += uint8_t(~out[i]);
    out[i] = char(carry & 255);
    carry >>= 8;
  }
  return out;
}

void Pickle::push_decimal(std::string_view text) {
  if (text.ends_with('L')) text.remove_suffix(1);
  int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument)
    wrong(fmt::format("{} is no integer", quote_name(text)));
  if (error == std::errc()) {
    stack_.emplace_back(n);
    return;
  }
  if (text.size() > 1000) wrong("an integer of more than 1000 digits");
  const bool negative = text.starts_with('-');
  push_integer(big_number(text.substr(negative ? 1 : 0), negative));
}

static double big_endian_double(std::string_view b) {
  uint64_t n = 0;
  for (const char c : b) n = n << 8 | uint8_t(c);
  return std::bit_cast<double>(n);
}

bool Pickle::step_numbers(uint8_t op) {
  switch (op) {
    case 'N':
      return stack_.emplace_back(), true;
    case 0x88:
      return stack_.emplace_back(true), true;
    case 0x89:
      return stack_.emplace_back(false), true;
    case 'J':
      return stack_.emplace_back(int64_t(int32_t(number(4)))), true;
    case 'K':
      return stack_.emplace_back(int64_t(number(1))), true;
    case 'M':
      return stack_.emplace_back(int64_t(number(2))), true;
    case 'L':
      return push_decimal(line()), true;
    case 'I': {
      const std::string_view text = line();
      if (text == "00" || text == "01")
        stack_.emplace_back(text == "01");
      else
        push_decimal(text);
      return true;
    }
    case 0x8a:
      return push_integer(take(number(1))), true;
    case 0x8b:
      return push_integer(take(number(4))), true;
    case 'G':
      return stack_.emplace_back(big_endian_double(take(8))), true;
    case 'F': {
      const std::string_view text = line();
      double x = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
      if (error == std::errc::invalid_argument || end != text.data() + text.size())
        wrong(fmt::format("{} is no number", quote_name(text)));
      stack_.emplace_back(x);
      return true;
    }
    default:
      return false;
  }
}

bool Pickle::step_texts(uint8_t op) {
  const auto bytes = [&](std::string_view b) {
    push_text({}, true);
    top().node()->kind = Kind::bytes;
    top().node()->text = b;
  };
  switch (op) {
    case 'S': {  // as Python shows it; what needs more than quotes is rare enough to be refused
      const std::string_view text = line();
      if (text.size() < 2 || text.front() != text.back() || text.find('\\') != text.npos) wrong("a text in quotes is wanted");
      push_text(text.substr(1, text.size() - 2), true);
      return true;
    }
    case 'V': {
      const std::string_view text = line();
      if (text.find('\\') != text.npos) wrong("a text with escapes: save it with a protocol of 1 or more");
      push_text(text, true);
      return true;
    }
    case 'T':
      return push_text(take(number(4)), true), true;
    case 'U':
      return push_text(take(number(1)), true), true;
    case 'X':
      return push_text(take(number(4)), false), true;
    case 0x8c:
      return push_text(take(number(1)), false), true;
    case 0x8d:
      return push_text(take(number(8)), false), true;
    case 'B':
      return bytes(take(number(4))), true;
    case 'C':
      return bytes(take(number(1))), true;
    case 0x8e:
    case 0x96:
      return bytes(take(number(8))), true;
    default:
      return false;
  }
}

}  // namespace dyadic::inline v1::io
