// Byte pair encoding: a word's characters, of which the pair that was learned first is merged until none is left.
#include <algorithm>
#include <queue>
#include <utility>

#include "base/check.h"
#include "text/blank_cuts.h"
#include "text/stages.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

struct Merge {
  uint32_t rank;
  int32_t id;
};
uint64_t pair_key(int32_t a, int32_t b) { return uint64_t(uint32_t(a)) << 32 | uint32_t(b); }

class Bpe : public Model {
  BpeParts p_;
  FlatMap<Merge> merges_;
  std::optional<int32_t> unknown_;
  std::array<int32_t, 256> bytes_;        // ids of the characters that stand for bytes; -1: none
  std::array<int32_t, 256> byte_tokens_;  // <0x00> ... <0xFF>
  bool all_bytes_ = true;                 // bytes_ has them all, and they are what a word begins with
  FlatMap<int32_t> characters_;           // ids of single characters, where nothing is written around them
  BlankCuts cuts_;

  void add_symbols(std::string_view word, std::vector<int32_t>& symbols) const {
    bool pending = false;  // an unknown character that was not written yet
    for (size_t i = 0, end; i < word.size(); i = end) {
      const Char c = decode_utf8(word, i);
      end = i + c.size;
      if (const int32_t* id = characters_.find(c.code)) {
        if (std::exchange(pending, false)) symbols.push_back(*unknown_);
        symbols.push_back(*id);
        continue;
      }
      std::string made;
      std::string_view s = word.substr(i, end - i);
      if ((i > 0 && !p_.prefix.empty()) || (end == word.size() && !p_.suffix.empty())) {
        made = (i > 0 ? p_.prefix : "") + std::string(s) + (end == word.size() ? p_.suffix : "");
        s = made;
      }
      if (auto id = p_.vocabulary.find(s)) {
        if (std::exchange(pending, false)) symbols.push_back(*unknown_);
        symbols.push_back(*id);
        continue;
      }
      if (p_.byte_fallback && std::all_of(s.begin(), s.end(), [&](char c) { return byte_tokens_[uint8_t(c)] >= 0; })) {
        for (char c : s) symbols.push_back(byte_tokens_[uint8_t(c)]);  // before a pending unknown, as in the Rust library
        continue;
      }
      if (!unknown_) continue;
      if (pending && !p_.fuse_unknown) symbols.push_back(*unknown_);
      pending = true;
    }
    if (pending) symbols.push_back(*unknown_);
  }

  void merge_short(std::vector<int32_t>& s) const {
    constexpr uint32_t kNone = uint32_t(-1);
    std::array<Merge, kShort> found;
    const auto look = [&](size_t i) {
      const Merge* m = merges_.find(pair_key(s[i], s[i + 1]));
      found[i] = m ? *m : Merge{kNone, 0};
    };
    size_t n = s.size();
    for (size_t i = 0; i + 1 < n; ++i) look(i);
    while (n > 1) {
      size_t best = 0;
      for (size_t i = 1; i + 1 < n; ++i)
        if (found[i].rank < found[best].rank) best = i;
      if (found[best].rank == kNone) break;
      s[best] = found[best].id;
      s.erase(s.begin() + std::ptrdiff_t(best) + 1);
      std::copy(found.begin() + best + 1, found.begin() + n - 1, found.begin() + best);
      --n;
      if (best > 0) look(best - 1);
      if (best + 1 < n) look(best);
    }
  }
  void merge_long(std::vector<int32_t>& s) const {
    struct Candidate {
      uint32_t rank, at;
      int32_t left, right, id;
      bool operator<(const Candidate& o) const { return rank != o.rank ? rank > o.rank : at > o.at; }
    };
    DY_CHECK(s.size() < uint32_t(-2), "encode: a word of {} characters is too long", s.size());
    const uint32_t n = uint32_t(s.size());
    std::vector<uint32_t> next(n), before(n);
    std::priority_queue<Candidate> queue;
    const auto offer = [&](uint32_t a, uint32_t b) {
      if (const Merge* m = merges_.find(pair_key(s[a], s[b]))) queue.push({m->rank, a, s[a], s[b], m->id});
    };
    for (uint32_t i = 0; i < n; ++i) next[i] = i + 1, before[i] = i - 1;
    for (uint32_t i = 0; i + 1 < n; ++i) offer(i, i + 1);
    while (!queue.empty()) {
      const Candidate c = queue.top();
      queue.pop();
      const uint32_t b = next[c.at];
      if (s[c.at] != c.left || b >= n || s[b] != c.right) continue;  // merged since
      s[c.at] = c.id;
      s[b] = -1;
      next[c.at] = next[b];
      if (next[b] < n) {
        before[next[b]] = c.at;
        offer(c.at, next[b]);
      }
      if (c.at > 0) offer(before[c.at], c.at);
    }
    std::erase(s, -1);
  }
  static constexpr size_t kShort = 64;

  // Cuts are where no merge's sides meet. What stands for characters that have no token may meet anything.
  void find_cuts(const std::vector<std::pair<std::string, std::string>>& merges) {
    if (!p_.prefix.empty() || !p_.suffix.empty() || p_.ignore_merges) return;
    // Where unknown characters vanish, those beside them meet.
    if (!unknown_ && std::ranges::any_of(byte_tokens_, [](int32_t id) { return id < 0; })) return;
    cuts_.allow(p_.vocabulary);
    const auto stands_in = [&](const std::string& s) {
      return (p_.byte_fallback && parse_byte_token(s) >= 0) || s == p_.unknown;
    };
    for (const auto& [a, b] : merges) {
      if (stands_in(a) || stands_in(b)) return cuts_.forbid();
      if (!a.empty() && !b.empty()) cuts_.join(a, b);
    }
  }

 public:
  explicit Bpe(BpeParts parts) : p_(std::move(parts)), merges_(p_.merges.size()) {
    const Vocabulary& v = p_.vocabulary;
    if (p_.unknown) {
      unknown_ = v.find(*p_.unknown);
      DY_CHECK_AS(ValueError, unknown_, "model: the unk_token \"{}\" is not in the vocabulary", valid_utf8(*p_.unknown));
    }
    for (uint32_t rank = 0; rank < p_.merges.size(); ++rank) {
      const auto& [a, b] = p_.merges[rank];
      const std::string both = a + (b.starts_with(p_.prefix) ? b.substr(p_.prefix.size()) : b);
      const auto left = v.find(a), right = v.find(b), id = v.find(both);
      DY_CHECK_AS(ValueError, left && right && id, "model: merge {} of \"{}\" and \"{}\": \"{}\" is not in the vocabulary",
                  rank, valid_utf8(a), valid_utf8(b),
                  valid_utf8(!left    ? a
                             : !right ? b
                                      : both));
      auto [m, made] = merges_.emplace(pair_key(*left, *right), {rank, *id});
      if (!made) *m = {rank, *id};
    }
    if (p_.prefix.empty() && p_.suffix.empty())
      for (size_t id = 0; id < v.size(); ++id)
        if (const std::string_view s = v.token(int64_t(id)); !s.empty() && decode_utf8(s, 0).size == s.size())
          characters_.emplace(decode_utf8(s, 0).code, *v.find(s));
    for (size_t i = 0; i < 256; ++i) {
      bytes_[i] = v.find(byte_characters()[i]).value_or(-1);
      byte_tokens_[i] = p_.byte_fallback ? v.find(fmt::format("<0x{:02X}>", i)).value_or(-1) : -1;
      all_bytes_ &= bytes_[i] >= 0;
    }
    all_bytes_ &= p_.prefix.empty() && p_.suffix.empty();
    find_cuts(p_.merges);
    p_.merges = {};
  }
  const Vocabulary& vocabulary() const override { return p_.vocabulary; }
  size_t end_of_part(std::string_view piece, size_t from, bool byte_level) const override {
    return byte_level ? piece.size() : cuts_.next(piece, from);
  }

  void encode(std::string_view piece, bool byte_level, Ids& ids) const override {
    std::string mapped;
    if (byte_level && (p_.ignore_merges || !all_bytes_)) mapped = bytes_to_characters(piece);
    if (p_.ignore_merges || (p_.whole_line_ends && piece.find_first_not_of('\n') == piece.npos))
      if (auto id = p_.vocabulary.find(byte_level ? std::string_view(mapped) : piece)) {
        ids.push_back(*id);
        return;
      }
    std::vector<int32_t> symbols;
    symbols.reserve(piece.size());
    if (byte_level && all_bytes_)
      for (char c : piece) symbols.push_back(bytes_[uint8_t(c)]);
    else
      add_symbols(byte_level ? std::string_view(mapped) : piece, symbols);
    symbols.size() <= kShort ? merge_short(symbols) : merge_long(symbols);
    ids.insert(ids.end(), symbols.begin(), symbols.end());
  }
};

}  // namespace

std::unique_ptr<Model> make_bpe(BpeParts parts) { return std::make_unique<Bpe>(std::move(parts)); }

const std::array<std::string, 256>& byte_characters() {
  static const std::array<std::string, 256> table = [] {
    std::array<std::string, 256> t;
    char32_t spare = 256;
    for (char32_t b = 0; b < 256; ++b) {
      const bool itself = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
      append_utf8(t[b], itself ? b : spare++);
    }
    return t;
  }();
  return table;
}
std::string bytes_to_characters(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char b : bytes) out += byte_characters()[uint8_t(b)];
  return out;
}
bool characters_to_bytes(std::string_view characters, std::string& out) {
  static const std::array<int16_t, 324> back = [] {
    std::array<int16_t, 324> t;
    t.fill(-1);
    for (int16_t b = 0; b < 256; ++b) t[decode_utf8(byte_characters()[size_t(b)], 0).code] = b;
    return t;
  }();
  for (size_t i = 0; i < characters.size();) {
    const Char c = decode_utf8(characters, i);
    if (c.code >= back.size() || back[c.code] < 0) return false;
    out += char(back[c.code]);
    i += c.size;
  }
  return true;
}
int parse_byte_token(std::string_view t) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  if (t.size() != 6 || !t.starts_with("<0x") || t[5] != '>' || digit(t[3]) < 0 || digit(t[4]) < 0) return -1;
  return digit(t[3]) * 16 + digit(t[4]);
}

}  // namespace dyadic::inline v1::text
