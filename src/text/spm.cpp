// SentencePiece's BPE by scores.
#include "text/spm.h"

#include <array>
#include <queue>
#include <utility>

#include "base/check.h"
#include "text/blank_cuts.h"
#include "text/gguf_vocabulary.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

class Spm : public Model {
  Vocabulary vocabulary_;
  std::vector<float> scores_;
  std::array<int32_t, 256> bytes_;
  int64_t unknown_;
  BlankCuts cuts_;

  struct Symbol {
    size_t begin, size;  // size 0: merged into the one before
    uint32_t before, next;
  };
  struct Candidate {
    float score;
    uint32_t at;
    size_t size;
    bool operator<(const Candidate& o) const { return score != o.score ? score < o.score : at > o.at; }
  };
  void put(std::string_view piece, Ids& ids) const {
    if (auto id = vocabulary_.find(piece)) return ids.push_back(*id);
    bool unknown = false;
    for (char c : piece) {
      if (bytes_[uint8_t(c)] >= 0)
        ids.push_back(bytes_[uint8_t(c)]);
      else if (!std::exchange(unknown, true) && unknown_ >= 0)
        ids.push_back(unknown_);
    }
  }

 public:
  Spm(Vocabulary vocabulary, std::vector<float> scores, const std::vector<int32_t>& types, int64_t unknown)
      : vocabulary_(std::move(vocabulary)), scores_(std::move(scores)), unknown_(unknown) {
    bytes_.fill(-1);
    for (size_t i = 0; i < vocabulary_.size(); ++i)
      if (const int b = parse_byte_token(vocabulary_.token(int64_t(i))); b >= 0 && (types.empty() || types[i] == kByte))
        bytes_[size_t(b)] = int32_t(i);
    cuts_.allow(vocabulary_);
    for (size_t i = 0; i < vocabulary_.size(); ++i) {
      const std::string_view s = vocabulary_.token(int64_t(i));
      for (size_t k = 0; k < s.size();)
        if ((k += decode_utf8(s, k).size) < s.size()) cuts_.join(s.substr(0, k), s.substr(k));
    }
  }
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  size_t end_of_part(std::string_view piece, size_t from, bool) const override { return cuts_.next(piece, from); }

  void encode(std::string_view text, bool, Ids& ids) const override {
    DY_CHECK(text.size() < uint32_t(-2), "encode: a text of {} bytes is too long", text.size());
    std::vector<Symbol> symbols;
    for (size_t i = 0; i < text.size(); i += symbols.back().size) {
      const uint32_t n = uint32_t(symbols.size());
      symbols.push_back({i, decode_utf8(text, i).size, n - 1, n + 1});
    }
    const uint32_t count = uint32_t(symbols.size());
    std::priority_queue<Candidate> queue;
    const auto offer = [&](uint32_t a) {
      const uint32_t b = a < count ? symbols[a].next : count;
      if (b >= count) return;
      const size_t size = symbols[a].size + symbols[b].size;
      if (auto id = vocabulary_.find(text.substr(symbols[a].begin, size))) queue.push({scores_[size_t(*id)], a, size});
    };
    for (uint32_t i = 0; i < count; ++i) offer(i);
    while (!queue.empty()) {
      const Candidate c = queue.top();
      queue.pop();
      Symbol& a = symbols[c.at];
      if (!a.size || a.next >= count || a.size + symbols[a.next].size != c.size) continue;  // merged since
      symbols[a.next].size = 0;
      a.size = c.size;
      a.next = symbols[a.next].next;
      if (a.next < count) symbols[a.next].before = c.at;
      if (c.at > 0) offer(a.before);
      offer(c.at);
    }
    for (const Symbol& s : symbols)
      if (s.size) put(text.substr(s.begin, s.size), ids);
  }
};

}  // namespace

std::unique_ptr<Model> make_spm(Vocabulary vocabulary, std::vector<float> scores, const std::vector<int32_t>& types,
                                int64_t unknown) {
  return std::make_unique<Spm>(std::move(vocabulary), std::move(scores), types, unknown);
}

}  // namespace dyadic::inline v1::text
