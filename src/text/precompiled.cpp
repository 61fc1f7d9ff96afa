// SentencePiece's compiled map of characters: a double-array trie from texts to places in a block of texts that end in zeros.
#include <cstring>

#include "base/check.h"
#include "text/stages.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

class Precompiled : public Normalizer {
  std::vector<uint32_t> units_;
  std::string texts_;

  // What the shortest beginning of `s` in the trie becomes.
  const char* find(std::string_view s) const {
    // A unit is an offset to its children, of which the label's bits pick one; bit 8 says that a text ends here, and the
    // child with label 0 holds its value.
    const auto offset = [](uint32_t u) { return (u >> 10) << ((u & (1u << 9)) >> 6); };
    size_t at = 0;
    uint32_t unit = units_[0];
    at ^= offset(unit);
    for (char c : s) {
      const uint8_t b = uint8_t(c);
      if (b == 0) return nullptr;
      at ^= b;
      if (at >= units_.size()) return nullptr;
      unit = units_[at];
      if ((unit & (1u << 31 | 0xff)) != b) return nullptr;
      at ^= offset(unit);
      if (unit >> 8 & 1) {
        if (at >= units_.size()) return nullptr;
        const size_t value = units_[at] & ((1u << 31) - 1);
        return value < texts_.size() ? texts_.c_str() + value : nullptr;
      }
    }
    return nullptr;
  }
  // Whether c goes on the user-perceived character before it.
  static bool extends(char32_t before, char32_t c) {
    if (before == '\r' && c == '\n') return true;
    if (category(before) == Category::Cc || before == 0x2028 || before == 0x2029) return false;
    return (category(c) >= Category::Mn && category(c) <= Category::Me) || c == 0x200c || c == 0x200d || c - 0x1f3fb < 5;
  }

 public:
  explicit Precompiled(std::string_view map) {
    uint32_t bytes = 0;
    if (map.size() >= 4) std::memcpy(&bytes, map.data(), 4);
    DY_CHECK_AS(ValueError, map.size() >= 4 && bytes >= 4 && bytes % 4 == 0 && bytes <= map.size() - 4,
                "normalizer Precompiled: a trie of {} bytes in a map of {}", bytes, map.size());
    units_.resize(bytes / 4);
    std::memcpy(units_.data(), map.data() + 4, bytes);
    texts_ = map.substr(4 + bytes);
  }
  void apply(std::string& s) const override {
    std::string out;
    out.reserve(s.size());
    for (size_t i = 0; i < s.size();) {
      Char c = decode_utf8(s, i);
      size_t end = i + c.size;
      for (char32_t before = c.code; end < s.size(); before = c.code) {
        c = decode_utf8(s, end);
        if (!extends(before, c.code)) break;
        end += c.size;
      }
      const std::string_view cluster = std::string_view(s).substr(i, end - i);
      // The map holds short clusters whole. The rest of one whose beginning it holds is dropped, as the Rust library does.
      if (const char* to = cluster.size() < 6 ? find(cluster) : nullptr) {
        out += to;
        i = end;
      }
      for (; i < end; i += c.size) {
        c = decode_utf8(s, i);
        const std::string_view part = std::string_view(s).substr(i, c.size);
        const char* to = find(part);
        to ? out += to : out += part;
      }
    }
    s = std::move(out);
  }
};

}  // namespace

std::unique_ptr<Normalizer> make_precompiled(std::string charsmap) { return std::make_unique<Precompiled>(charsmap); }

}  // namespace dyadic::inline v1::text
