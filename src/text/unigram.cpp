// Unigram: of all ways to cut a text into pieces the one whose scores have the largest sum (Viterbi), as the Rust library
// does it, so that equal sums end alike.
#include <algorithm>
#include <array>
#include <limits>

#include "base/check.h"
#include "text/stages.h"
#include "text/unicode.h"

namespace dyadic::inline v1::text {
namespace {

class Unigram : public Model {
  Vocabulary vocabulary_;
  std::vector<double> scores_;
  std::optional<int32_t> unknown_;
  double unknown_score_ = 0;
  bool byte_fallback_;
  std::array<int32_t, 256> byte_tokens_;
  FlatMap<uint32_t> children_;    // node << 8 | byte
  std::vector<int32_t> ends_at_;  // of a node: the piece that ends there, or -1

  void insert(std::string_view piece, int32_t id) {
    uint32_t node = 0;
    for (char c : piece) {
      auto [child, made] = children_.emplace(uint64_t(node) << 8 | uint8_t(c), uint32_t(ends_at_.size()));
      if (made) ends_at_.push_back(-1);
      node = *child;
    }
    if (node) ends_at_[node] = id;
  }
  void put(std::string_view piece, Ids& ids) const {
    if (auto id = vocabulary_.find(piece)) {
      ids.push_back(*id);
    } else if (byte_fallback_ &&
               std::all_of(piece.begin(), piece.end(), [&](char c) { return byte_tokens_[uint8_t(c)] >= 0; })) {
      for (char c : piece) ids.push_back(byte_tokens_[uint8_t(c)]);
    } else {
      ids.push_back(*unknown_);
    }
  }

 public:
  explicit Unigram(UnigramParts p) : byte_fallback_(p.byte_fallback) {
    ends_at_.push_back(-1);
    vocabulary_.reserve(p.pieces.size());
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const auto& [piece, score] : p.pieces) least = std::min(least, score), most = std::max(most, score);
    for (size_t i = 0; i < p.pieces.size(); ++i) {
      vocabulary_.add(p.pieces[i].first, int32_t(i));
      scores_.push_back(p.pieces[i].second);
      if (i >= p.unusable.size() || !p.unusable[i]) insert(p.pieces[i].first, int32_t(i));
    }
    if (p.unknown) {
      DY_CHECK_AS(ValueError, *p.unknown >= 0 && size_t(*p.unknown) < p.pieces.size(),
                  "model: unk_id {} is none of the {} pieces", *p.unknown, p.pieces.size());
      unknown_ = int32_t(*p.unknown);
    }
    unknown_score_ = least - 10;
    for (size_t i = 0; i < 256; ++i)
      byte_tokens_[i] = byte_fallback_ ? vocabulary_.find(fmt::format("<0x{:02X}>", i)).value_or(-1) : -1;
  }
  const Vocabulary& vocabulary() const override { return vocabulary_; }

  void encode(std::string_view raw, bool byte_level, Ids& ids) const override {
    const std::string mapped = byte_level ? bytes_to_characters(raw) : std::string();
    const std::string_view text = byte_level ? std::string_view(mapped) : raw;
    struct Node {
      double score = 0;
      size_t from = size_t(-1);
      int32_t id = 0;
    };
    std::vector<Node> best(text.size() + 1);
    for (size_t at = 0; at < text.size();) {
      const size_t size = decode_utf8(text, at).size;
      bool single = false;
      const auto offer = [&](size_t end, double score, int32_t id) {
        Node& to = best[end];
        const double sum = score + best[at].score;
        if (to.from == size_t(-1) || sum > to.score) to = {sum, at, id};
      };
      uint32_t node = 0;
      for (size_t i = at; i < text.size(); ++i) {
        const uint32_t* child = children_.find(uint64_t(node) << 8 | uint8_t(text[i]));
        if (!child) break;
        node = *child;
        if (const int32_t id = ends_at_[node]; id >= 0) {
          offer(i + 1, scores_[size_t(id)], id);
          single |= i + 1 == at + size;
        }
      }
      if (!single) {
        DY_CHECK_AS(ValueError, unknown_, "encode: a character at byte {} is in no piece, and there is no unk_id", at);
        offer(at + size, unknown_score_, *unknown_);
      }
      at += size;
    }
    std::vector<std::string_view> pieces;  // the last one first
    bool in_unknown = false;
    for (size_t end = text.size(); end > 0;) {
      const Node& n = best[end];
      const std::string_view piece = text.substr(n.from, end - n.from);
      const bool is_unknown = unknown_ && n.id == *unknown_;
      if (is_unknown && in_unknown)  // unknown characters side by side are one
        pieces.back() = {piece.data(), piece.size() + pieces.back().size()};
      else
        pieces.push_back(piece);
      in_unknown = is_unknown;
      end = n.from;
    }
    for (size_t i = pieces.size(); i-- > 0;) put(pieces[i], ids);
  }
};

}  // namespace

std::unique_ptr<Model> make_unigram(UnigramParts parts) { return std::make_unique<Unigram>(std::move(parts)); }

}  // namespace dyadic::inline v1::text
