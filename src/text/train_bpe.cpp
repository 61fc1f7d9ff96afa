// Learning a byte-level BPE: words are counted once, then the most frequent pair is merged, and only the words that hold it are
// looked at again.
#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/json.h"
#include "dyadic/tokenizer.h"
#include "text/split_matchers.h"
#include "text/stages.h"
#include "text/tokenizer_document.h"
#include "text/unicode.h"

namespace dyadic::inline v1 {
namespace text {
namespace {

using IdPair = std::pair<int32_t, int32_t>;
uint64_t key_of(IdPair p) { return uint64_t(uint32_t(p.first)) << 32 | uint32_t(p.second); }

struct Word {
  std::vector<int32_t> symbols;
  int64_t count;
};
struct Candidate {
  int64_t count;
  IdPair pair;
  bool operator<(const Candidate& o) const { return count != o.count ? count < o.count : pair > o.pair; }
};

class Trainer {
  std::vector<Word> words_;
  std::unordered_map<uint64_t, int64_t> counts_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> where_;  // words that may hold the pair
  std::priority_queue<Candidate> queue_;

  void count(IdPair p, int64_t by, uint32_t word, std::vector<IdPair>* changed) {
    counts_[key_of(p)] += by;
    if (by > 0) where_[key_of(p)].push_back(word);
    if (changed) changed->push_back(p);
  }
  void merge_in(uint32_t at, IdPair p, int32_t id, std::vector<IdPair>& changed) {
    Word& w = words_[at];
    std::vector<int32_t>& s = w.symbols;
    size_t out = 0;
    for (size_t i = 0; i < s.size(); ++i, ++out) {
      if (i + 1 < s.size() && s[i] == p.first && s[i + 1] == p.second) {
        count(p, -w.count, at, nullptr);
        if (out > 0) {
          count({s[out - 1], s[i]}, -w.count, at, &changed);
          count({s[out - 1], id}, w.count, at, &changed);
        }
        if (i + 2 < s.size()) {
          count({s[i + 1], s[i + 2]}, -w.count, at, &changed);
          count({id, s[i + 2]}, w.count, at, &changed);
        }
        s[out] = id;
        ++i;
      } else {
        s[out] = s[i];
      }
    }
    s.resize(out);
  }

 public:
  explicit Trainer(std::vector<Word> words) : words_(std::move(words)) {
    for (uint32_t i = 0; i < words_.size(); ++i)
      for (size_t k = 0; k + 1 < words_[i].symbols.size(); ++k)
        count({words_[i].symbols[k], words_[i].symbols[k + 1]}, words_[i].count, i, nullptr);
    for (const auto& [key, n] : counts_) queue_.push({n, {int32_t(key >> 32), int32_t(key)}});
  }
  // The next pair to merge, which becomes id_of(pair); nothing when none is there so often.
  template <class IdOf> std::optional<IdPair> next(IdOf id_of, int64_t least) {
    while (!queue_.empty()) {
      const Candidate c = queue_.top();
      queue_.pop();
      const int64_t n = counts_[key_of(c.pair)];
      if (n != c.count) {  // it has changed since; the right count may be in the queue already
        if (n > 0 && n < c.count) queue_.push({n, c.pair});
        continue;
      }
      if (n < std::max<int64_t>(least, 1)) return {};
      std::vector<IdPair> changed;
      std::vector<uint32_t> words = std::move(where_[key_of(c.pair)]);
      std::sort(words.begin(), words.end());
      words.erase(std::unique(words.begin(), words.end()), words.end());
      const int32_t id = id_of(c.pair);
      for (uint32_t w : words) merge_in(w, c.pair, id, changed);
      std::sort(changed.begin(), changed.end());
      changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
      for (IdPair p : changed)
        if (const int64_t m = counts_[key_of(p)]; m > 0) queue_.push({m, p});
      counts_[key_of(c.pair)] = 0;
      return c.pair;
    }
    return {};
  }
};

std::vector<Word> count_words(const std::vector<std::string>& texts, const Splitter& at,
                              const std::array<int32_t, 256>& byte_ids) {
  std::map<std::string, int64_t, std::less<>> counts;
  const auto add = [&](std::string_view word) {
    if (word.empty()) return;
    auto found = counts.find(word);
    found == counts.end() ? void(counts.emplace(word, 1)) : void(++found->second);
  };
  for (const std::string& t : texts) {
    size_t last = 0;
    each_match(
        t, [&](std::string_view s, size_t from) { return at.find(s, from); },
        [&](Regex::Span m) {
          add(std::string_view(t).substr(last, m.begin - last));
          add(std::string_view(t).substr(m.begin, m.end - m.begin));
          last = m.end;
        });
    add(std::string_view(t).substr(last));
  }
  std::vector<Word> words;
  for (const auto& [text, n] : counts) {
    Word& w = words.emplace_back(Word{{}, n});
    for (char c : text) w.symbols.push_back(byte_ids[uint8_t(c)]);
  }
  return words;
}

}  // namespace
}  // namespace text

Tokenizer Tokenizer::train_bpe(const std::vector<std::string>& texts, const TrainBpeOptions& o) {
  using namespace text;
  const int64_t least = 256 + int64_t(o.special_tokens.size());
  DY_CHECK_AS(ValueError, o.vocab_size >= least && o.vocab_size < (1 << 28),
              "train_bpe: vocab_size is {}; bytes and special tokens are {}", o.vocab_size, least);
  Json vocabulary = Json::object(), merges = Json::array(), added = Json::array();
  std::vector<std::string> tokens;
  const auto add = [&](const std::string& token) {
    DY_CHECK_AS(ValueError, vocabulary.emplace(token, tokens.size()).second, "train_bpe: the token \"{}\" is there twice",
                valid_utf8(token));
    tokens.push_back(token);
  };
  for (const std::string& t : o.special_tokens) {
    DY_CHECK_AS(ValueError, !t.empty() && valid_utf8(t) == t, "train_bpe: a special token is empty or not UTF-8");
    added.push_back({{"id", tokens.size()},
                     {"content", t},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
    add(t);
  }
  std::array<int32_t, 256> byte_ids{};
  for (size_t b = 0; b < 256; ++b) byte_ids[b] = int32_t(tokens.size()), add(byte_characters()[b]);
  const std::string pattern = o.pattern.empty() ? kGpt2Pattern : o.pattern;
  Trainer trainer(count_words(texts, Splitter::by_regex(pattern), byte_ids));
  while (int64_t(tokens.size()) < o.vocab_size) {
    // Two pairs may write one token: "ab" "c" and "a" "bc".
    const auto id_of = [&](IdPair p) {
      const std::string both = tokens[size_t(p.first)] + tokens[size_t(p.second)];
      if (auto at = vocabulary.find(both); at != vocabulary.end()) return at->get<int32_t>();
      add(both);
      return int32_t(tokens.size()) - 1;
    };
    const auto p = trainer.next(id_of, o.min_frequency);
    if (!p) break;
    merges.push_back({tokens[size_t(p->first)], tokens[size_t(p->second)]});
  }
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  const Json split = {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  Json all = text::tokenizer_document<Json>();
  all["added_tokens"] = added;
  all["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {split, byte_level}}};
  all["decoder"] = byte_level;
  all["model"] = text::bpe_document<Json>(vocabulary, merges);
  all["model"]["ignore_merges"] = false;
  return from_json(dump_json(all));
}

}  // namespace dyadic::inline v1
