// SentencePiece's BPE as a list of merges. By scores, of all neighbours whose text is a token those with the highest score are
// merged first, of equals the leftmost. By a list each pair has a rank of its own: pairs of one token, and of tokens with one
// score, need an order among themselves. Where (x, y) and (y, z) are both such pairs and x y z stand side by side, the first
// one is the leftmost, so it must come first in the list; a list that keeps this for all of them makes the same tokens. It may
// be impossible ("aa" + "a" and "a" + "aa"): then the text x y z tells whether the two pairs ever meet.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <span>

#include "base/check.h"
#include "text/gguf_vocabulary.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

struct Pair {
  int32_t token, left, right;
  uint32_t left_size, right_size;
};

bool is_character(std::string_view s) { return !s.empty() && decode_utf8(s, 0).size == s.size(); }

class Pairs {
  const StoredVocabulary& v_;
  Vocabulary ids_;
  std::vector<Pair> all_;

  // Added tokens are taken out of the text before: what has no blank sign, which a blank may become, never comes here.
  bool absent(int32_t id) const { return is_added(v_, size_t(id)) && v_.tokens[size_t(id)].find(kBlank) == std::string::npos; }
  bool is_byte(int32_t id) const {
    return parse_byte_token(v_.tokens[size_t(id)]) >= 0 && (v_.types.empty() || v_.types[size_t(id)] == kByte);
  }
  void add(int32_t token, std::string_view left, std::string_view right) {
    const auto l = ids_.find(left), r = ids_.find(right);
    if ((l && absent(*l)) || (r && absent(*r))) return;
    const std::string_view text = v_.tokens[size_t(token)];
    if (l && r) {
      // A byte and an unknown character are such tokens before anything is merged, in a list's BPE alone.
      for (int32_t id : {*l, *r})
        DY_CHECK_AS(ValueError, !is_byte(id) && id != v_.unknown,
                    "vocabulary: token \"{}\" has \"{}\" in it, which stands for what no token has", text,
                    v_.tokens[size_t(id)]);
      all_.push_back({token, *l, *r, uint32_t(left.size()), uint32_t(right.size())});
      return;
    }
    if ((l || is_character(left)) && (r || is_character(right)))
      fail<ValueError>("vocabulary: token \"{}\" is merged of \"{}\", which is no token", text, l ? right : left);
  }

 public:
  explicit Pairs(const StoredVocabulary& v) : v_(v) {
    ids_.reserve(v.tokens.size());
    for (size_t i = 0; i < v.tokens.size(); ++i) ids_.add(v.tokens[i], int32_t(i));
    for (size_t i = 0; i < v.tokens.size(); ++i) {
      const std::string_view t = v.tokens[i];
      DY_CHECK_AS(ValueError, std::isfinite(v.scores[i]), "vocabulary: the score of token \"{}\" is {}", t, v.scores[i]);
      if (absent(int32_t(i))) continue;
      constexpr size_t kLongest = 1024;
      DY_CHECK_AS(ValueError, t.size() <= kLongest, "vocabulary: token {} has {} bytes, more than {}", i, t.size(), kLongest);
      for (size_t k = 0; k < t.size();)
        if ((k += decode_utf8(t, k).size) < t.size()) add(int32_t(i), t.substr(0, k), t.substr(k));
    }
    const auto key = [&](const Pair& p) {
      return std::tuple(-v_.scores[size_t(p.token)], -int64_t(p.left_size), -int64_t(p.right_size), p.token);
    };
    std::ranges::sort(all_, {}, key);
  }
  std::vector<Pair>& all() { return all_; }
  float score(const Pair& p) const { return v_.scores[size_t(p.token)]; }
};

// Orders pairs of one score. Gives those of which the second comes first all the same.
std::vector<std::pair<Pair, Pair>> order(std::span<Pair> pairs) {
  std::unordered_map<int32_t, std::vector<uint32_t>> by_left;
  for (uint32_t i = 0; i < pairs.size(); ++i) by_left[pairs[i].left].push_back(i);
  std::vector<uint32_t> before(pairs.size());  // how many that must come first do not stand yet
  size_t edges = 0;
  const auto later = [&](uint32_t i, auto f) {
    if (auto at = by_left.find(pairs[i].right); at != by_left.end())
      for (uint32_t k : at->second)
        if (k != i) f(k);
  };
  for (uint32_t i = 0; i < pairs.size(); ++i) later(i, [&](uint32_t k) { ++before[k], ++edges; });
  if (!edges) return {};
  constexpr size_t kMost = 1 << 20;  // of scores that say something a token or two share one
  DY_CHECK_AS(ValueError, edges <= kMost, "vocabulary: too many tokens have the same score");
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < pairs.size(); ++i)
    if (!before[i]) ready.push(i);
  std::vector<Pair> out;
  std::vector<uint32_t> place(pairs.size(), uint32_t(-1));
  for (uint32_t first = 0; out.size() < pairs.size();) {
    uint32_t i = 0;
    if (!ready.empty()) {
      i = ready.top();
      ready.pop();
    } else {  // a circle: its first one
      while (place[first] != uint32_t(-1)) ++first;
      i = first;
    }
    if (place[i] != uint32_t(-1)) continue;
    place[i] = uint32_t(out.size());
    out.push_back(pairs[i]);
    later(i, [&](uint32_t k) {
      if (--before[k] == 0 && place[k] == uint32_t(-1)) ready.push(k);
    });
  }
  std::vector<std::pair<Pair, Pair>> wrong;
  for (uint32_t i = 0; i < pairs.size(); ++i)
    later(i, [&](uint32_t k) {
      if (place[k] < place[i]) wrong.emplace_back(pairs[i], pairs[k]);
    });
  std::ranges::copy(out, pairs.begin());
  return wrong;
}

}  // namespace

SpmMerges spm_merges(const StoredVocabulary& v) {
  Pairs pairs(v);
  SpmMerges out;
  const std::span<Pair> all = pairs.all();
  const auto text = [&](int32_t id) { return v.tokens[size_t(id)]; };
  for (size_t i = 0, end; i < all.size(); i = end) {
    for (end = i + 1; end < all.size() && pairs.score(all[end]) == pairs.score(all[i]);) ++end;
    for (auto& [first, second] : order(all.subspan(i, end - i))) {
      DY_CHECK_AS(ValueError, out.doubtful.size() < 1 << 16, "vocabulary: too many tokens have the same score");
      out.doubtful.push_back(text(first.left) + text(first.right) + text(second.right));
    }
  }
  out.merges.reserve(all.size());
  for (const Pair& p : all) out.merges.emplace_back(text(p.left), text(p.right));
  return out;
}

}  // namespace dyadic::inline v1::text
