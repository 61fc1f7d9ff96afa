// Normalizers: what is done to a text before it is cut.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "text/split_matchers.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

// Calls f(code, out) for each character.
template <class F> void for_each_char(std::string& text, F f) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Char c = decode_utf8(text, i);
    f(c.code, out);
    i += c.size;
  }
  text = std::move(out);
}

template <class F> class NormalizerFunction : public Normalizer {
  F f_;

 public:
  explicit NormalizerFunction(F f) : f_(std::move(f)) {}
  void apply(std::string& text) const override { f_(text); }
};
template <class F> std::unique_ptr<Normalizer> normalizer_function(F f) {
  return std::make_unique<NormalizerFunction<F>>(std::move(f));
}

std::unique_ptr<Normalizer> form(Form f) {
  return normalizer_function([f](std::string& s) { s = normalize(s, f); });
}
void to_lower(std::string& s) { s = lower(s); }
// StripAccents drops all marks, BertNormalizer those alone that take no space.
void drop_marks(std::string& s, bool all) {
  for_each_char(s, [all](char32_t c, std::string& out) {
    if (!(all ? is_mark(c) : is_accent(c))) append_utf8(out, c);
  });
}
void strip(std::string& s, bool left, bool right) {
  size_t begin = 0, end = s.size();
  while (left && begin < end) {
    const Char c = decode_utf8(s, begin);
    if (!is_space(c.code)) break;
    begin += c.size;
  }
  while (right && end > begin) {
    const Char c = last_char(std::string_view(s).substr(0, end));
    if (!is_space(c.code)) break;
    end -= c.size;
  }
  s = s.substr(begin, end - begin);
}

struct BertOptions {
  bool clean, chinese, strip_accents, lowercase;
};
bool is_chinese(char32_t c) {
  constexpr std::pair<char32_t, char32_t> kRanges[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                                       {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                                       {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  return std::any_of(std::begin(kRanges), std::end(kRanges), [c](auto r) { return c >= r.first && c <= r.second; });
}
void bert(std::string& s, const BertOptions& o) {
  if (o.clean)
    for_each_char(s, [](char32_t c, std::string& out) {
      const bool blank = c == '\t' || c == '\n' || c == '\r' || (is_space(c) && !is_control(c));
      if (c == 0 || c == 0xfffd || (!blank && is_control(c))) return;
      blank ? out += ' ' : (append_utf8(out, c), out);
    });
  if (o.chinese)
    for_each_char(s, [](char32_t c, std::string& out) {
      if (is_chinese(c)) out += ' ';
      append_utf8(out, c);
      if (is_chinese(c)) out += ' ';
    });
  if (o.strip_accents) {
    s = normalize(s, Form::nfd);
    drop_marks(s, false);
  }
  if (o.lowercase) to_lower(s);
}
void nmt(std::string& s) {
  for_each_char(s, [](char32_t c, std::string& out) {
    if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f || c == 0x9f) return;
    const bool blank = c == 9 || c == 10 || c == 12 || c == 13 || c == 0x1680 || (c >= 0x200b && c <= 0x200f) || c == 0x2028 ||
                       c == 0x2029 || c == 0x2581 || c == 0xfeff || c == 0xfffd;
    blank ? out += ' ' : (append_utf8(out, c), out);
  });
}

std::unique_ptr<Normalizer> sequence(const Json& j, int depth) {
  std::vector<std::shared_ptr<Normalizer>> parts;
  for (const Json& part : member(j, "normalizers"))
    if (auto n = make_normalizer(part, depth + 1)) parts.push_back(std::move(n));
  return normalizer_function([parts](std::string& s) {
    for (const auto& p : parts) p->apply(s);
  });
}
}  // namespace

std::string from_base64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int n = 0;
  for (char c : text) {
    const int d = c >= 'A' && c <= 'Z'   ? c - 'A'
                  : c >= 'a' && c <= 'z' ? c - 'a' + 26
                  : c >= '0' && c <= '9' ? c - '0' + 52
                  : c == '+'             ? 62
                  : c == '/'             ? 63
                                         : -1;
    if (c == '=' || c == '\n') continue;
    DY_CHECK_AS(ValueError, d >= 0, "normalizer Precompiled: precompiled_charsmap is not base 64");
    bits = bits << 6 | uint32_t(d);
    if ((n += 6) >= 8) out += char(bits >> (n -= 8));
  }
  return out;
}

std::unique_ptr<Normalizer> make_normalizer(const Json& j, int depth) {
  if (j.is_null()) return nullptr;
  DY_CHECK_AS(ValueError, depth < kDeepestStage, "normalizer: sequences nested more than {} deep", kDeepestStage);
  const std::string type = type_of_stage(j, "normalizer");
  if (type == "Sequence") return sequence(j, depth);
  if (type == "NFC") return form(Form::nfc);
  if (type == "NFD") return form(Form::nfd);
  if (type == "NFKC") return form(Form::nfkc);
  if (type == "NFKD") return form(Form::nfkd);
  if (type == "Lowercase") return normalizer_function(to_lower);
  if (type == "StripAccents") return normalizer_function([](std::string& s) { drop_marks(s, true); });
  if (type == "Nmt") return normalizer_function(nmt);
  if (type == "Strip")
    return normalizer_function(
        [l = flag(j, "strip_left", true), r = flag(j, "strip_right", true)](std::string& s) { strip(s, l, r); });
  if (type == "Prepend")
    return normalizer_function([p = text_field(j, "prepend")](std::string& s) {
      if (!s.empty()) s.insert(0, p);
    });
  if (type == "Replace")
    return normalizer_function(
        [at = Splitter::from_json(member(j, "pattern")), c = text_field(j, "content")](std::string& s) { at.replace(s, c); });
  if (type == "ByteLevel") return normalizer_function([](std::string& s) { s = bytes_to_characters(s); });
  if (type == "Precompiled") {
    const Json& map = member(j, "precompiled_charsmap");
    return map.is_null() ? nullptr : make_precompiled(from_base64(text_field(j, "precompiled_charsmap")));
  }
  if (type == "BertNormalizer") {
    const bool lowercase = flag(j, "lowercase", true);
    const BertOptions o{flag(j, "clean_text", true), flag(j, "handle_chinese_chars", true), flag(j, "strip_accents", lowercase),
                        lowercase};
    return normalizer_function([o](std::string& s) { bert(s, o); });
  }
  fail<ValueError>("normalizer {} is not supported", valid_utf8(type));
}

}  // namespace dyadic::inline v1::text
