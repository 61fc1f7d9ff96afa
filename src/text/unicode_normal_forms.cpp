// The four normal forms (UAX 15).
#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <vector>

#include "text/unicode.h"
#include "text/unicode_packed.h"

namespace dyadic::inline v1::text {
namespace {

constexpr char32_t kHangul = 0xac00, kLead = 0x1100, kVowel = 0x1161, kTail = 0x11a7;
constexpr char32_t kVowels = 21, kTails = 28, kHangulCount = 19 * kVowels * kTails;

struct Forms {
  struct Decomposition {
    std::vector<char32_t> codes;
    bool compat;
  };
  std::unordered_map<char32_t, Decomposition> decompositions;
  std::unordered_map<uint64_t, char32_t> compositions;
  std::vector<uint8_t> combining;
};
uint64_t pair_key(char32_t a, char32_t b) { return uint64_t(a) << 32 | b; }

Forms make_forms() {
  Forms f;
  char32_t code = 0;
  for (Unpacker in(packed_decompositions()); in.more();) {
    code += in.next();
    const uint32_t head = in.next();
    std::vector<char32_t> codes(head >> 2);
    for (char32_t& c : codes) c = in.next();
    if (!(head & 3) && codes.size() == 2) f.compositions[pair_key(codes[0], codes[1])] = code;
    f.decompositions[code] = {std::move(codes), (head & 2) != 0};
  }
  for (Unpacker in(packed_combining_runs()); in.more();) {
    const uint32_t run = in.next();
    f.combining.insert(f.combining.end(), run, uint8_t(in.next()));
  }
  return f;
}
const Forms& forms() {
  static const Forms f = make_forms();
  return f;
}
uint8_t combining(char32_t c) { return c < forms().combining.size() ? forms().combining[c] : 0; }

void decompose(char32_t c, bool compat, std::vector<char32_t>& out) {
  if (c - kHangul < kHangulCount) {
    const char32_t s = c - kHangul;
    out.push_back(kLead + s / (kVowels * kTails));
    out.push_back(kVowel + s % (kVowels * kTails) / kTails);
    if (s % kTails) out.push_back(kTail + s % kTails);
    return;
  }
  auto at = forms().decompositions.find(c);
  if (at == forms().decompositions.end() || (at->second.compat && !compat)) {
    out.push_back(c);
    return;
  }
  for (char32_t part : at->second.codes) decompose(part, compat, out);  // Unicode's own tables: at most a few deep
}

void order_marks(std::vector<char32_t>& codes) {
  for (size_t i = 0; i < codes.size();) {
    size_t end = i;
    while (end < codes.size() && combining(codes[end])) ++end;
    std::stable_sort(codes.begin() + std::ptrdiff_t(i), codes.begin() + std::ptrdiff_t(end),
                     [](char32_t a, char32_t b) { return combining(a) < combining(b); });
    i = end + 1;
  }
}

char32_t composed(char32_t a, char32_t b) {
  if (a - kLead < 19 && b - kVowel < kVowels) return kHangul + ((a - kLead) * kVowels + (b - kVowel)) * kTails;
  if (a - kHangul < kHangulCount && (a - kHangul) % kTails == 0 && b - kTail - 1 < kTails - 1) return a + (b - kTail);
  auto at = forms().compositions.find(pair_key(a, b));
  return at == forms().compositions.end() ? 0 : at->second;
}
void compose(std::vector<char32_t>& codes) {
  constexpr size_t kNone = size_t(-1);
  size_t out = 0, starter = kNone;
  uint8_t last = 0;
  for (char32_t c : codes) {
    const uint8_t k = combining(c);
    // Blocked when something between them has the same or a higher class.
    if (starter != kNone && (out == starter + 1 || (last < k && last != 0)))
      if (char32_t both = composed(codes[starter], c)) {
        codes[starter] = both;
        continue;
      }
    if (k == 0) starter = out;
    last = k;
    codes[out++] = c;
  }
  codes.resize(out);
}

}  // namespace

std::string normalize(std::string_view text, Form form) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return uint8_t(c) < 128; })) return std::string(text);
  const bool compat = form == Form::nfkc || form == Form::nfkd;
  std::vector<char32_t> codes;
  codes.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Char c = decode_utf8(text, i);
    decompose(c.code, compat, codes);
    i += c.size;
  }
  order_marks(codes);
  if (form == Form::nfc || form == Form::nfkc) compose(codes);
  std::string out;
  out.reserve(text.size());
  for (char32_t c : codes) append_utf8(out, c);
  return out;
}

}  // namespace dyadic::inline v1::text
