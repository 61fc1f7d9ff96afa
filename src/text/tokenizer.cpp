// Encoding and decoding: the order of the stages.
#include "dyadic/tokenizer.h"

#include <algorithm>

#include "base/check.h"
#include "base/parallel.h"
#include "text/tokenizer_state.h"
#include "text/unicode.h"

namespace dyadic::inline v1 {
namespace text {

void TokenizerState::add(AddedToken t) {
  std::string content = t.content;
  if (t.normalized && normalizer) normalizer->apply(content);
  (t.normalized ? normalized : raw).add(t, content);
  added_by_id[t.id] = added.size();
  added_by_text[t.content] = t.id;
  added.push_back(std::move(t));
}
std::optional<int64_t> TokenizerState::find(std::string_view token) const {
  if (auto at = added_by_text.find(std::string(token)); at != added_by_text.end()) return at->second;
  return model->vocabulary().find(token);
}
std::optional<std::string> TokenizerState::token(int64_t id) const {
  if (auto at = added_by_id.find(id); at != added_by_id.end()) return added[at->second].content;
  if (!model->vocabulary().has(id)) return {};
  return std::string(model->vocabulary().token(id));
}
std::optional<int64_t> TokenizerState::special(const char* name) const {
  auto at = special_texts.find(name);
  return at == special_texts.end() ? std::nullopt : find(at->second);
}

}  // namespace text

namespace {
using text::TokenizerState, text::WordCache, text::WordCaches, text::Pieces, text::Piece, text::Ids, text::AddedToken;

void encode_piece(const TokenizerState& s, WordCache& cache, std::string_view text, bool at_start, Ids& ids) {
  Pieces pieces;
  pieces.list = {{text, at_start}};
  if (s.pre_tokenizer) s.pre_tokenizer->apply(pieces);
  for (const Piece& p : pieces.list)
    for (size_t i = 0, end; i < p.text.size(); i = end) {
      const std::string_view part = p.text.substr(i, (end = s.model->end_of_part(p.text, i, pieces.byte_level)) - i);
      cache.encode(part, ids, [&] { s.model->encode(part, pieces.byte_level, ids); });
    }
}

void encode_into(const TokenizerState& s, std::string_view text, Ids& ids) {
  WordCaches::Loan loan(s.caches);
  const auto found = [&](int64_t id) { ids.push_back(id); };
  const auto plain = [&](std::string_view piece, bool at_start) { encode_piece(s, *loan, piece, at_start, ids); };
  const auto between = [&](std::string_view piece, bool at_start) {
    std::string changed;
    if (s.normalizer) {
      changed = piece;
      s.normalizer->apply(changed);
      piece = changed;
    }
    if (piece.empty()) return;
    s.normalized.empty() ? plain(piece, at_start) : s.normalized.split(piece, at_start, plain, found);
  };
  if (text.empty()) return;
  s.raw.empty() ? between(text, true) : s.raw.split(text, true, between, found);
}

}  // namespace

std::vector<int64_t> Tokenizer::encode(std::string_view text, bool add_special_tokens) const {
  Ids ids;
  ids.reserve(text.size() / 4 + 8);
  if (add_special_tokens) ids = state_->frame.before;
  encode_into(*state_, text, ids);
  if (add_special_tokens) ids.insert(ids.end(), state_->frame.after.begin(), state_->frame.after.end());
  return ids;
}
std::vector<std::vector<int64_t>> Tokenizer::encode_batch(const std::vector<std::string>& texts,
                                                          bool add_special_tokens) const {
  std::vector<Ids> all(texts.size());
  parallel_each(int64_t(texts.size()), [&](int64_t i) { all[size_t(i)] = encode(texts[size_t(i)], add_special_tokens); });
  return all;
}

std::string Tokenizer::decode(const std::vector<int64_t>& ids, bool skip_special_tokens) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (int64_t id : ids) {
    DY_CHECK_AS(ValueError, id >= 0, "decode: {} is the id of no token; there are {}", id, vocab_size());
    auto token = state_->token(id);  // models have rows for more ids than there are tokens: those say nothing
    if (token && (!skip_special_tokens || !is_special(id))) tokens.push_back(std::move(*token));
  }
  if (state_->decoder) state_->decoder->apply(tokens);
  std::string out;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 && !state_->decoder) out += ' ';
    out += tokens[i];
  }
  return out;
}

int64_t Tokenizer::vocab_size() const {
  int64_t n = int64_t(state_->model->vocabulary().size());
  for (const AddedToken& t : state_->added) n = std::max(n, t.id + 1);
  return n;
}
std::optional<int64_t> Tokenizer::token_to_id(std::string_view token) const { return state_->find(token); }
std::optional<std::string> Tokenizer::id_to_token(int64_t id) const { return state_->token(id); }
bool Tokenizer::is_special(int64_t id) const {
  auto at = state_->added_by_id.find(id);
  return at != state_->added_by_id.end() && state_->added[at->second].special;
}
std::optional<int64_t> Tokenizer::bos_id() const { return state_->special("bos_token"); }
std::optional<int64_t> Tokenizer::eos_id() const { return state_->special("eos_token"); }

std::string TokenStream::push(int64_t id) {
  ids_.push_back(id);
  std::string text = tokenizer_.decode(ids_, skip_special_tokens_);
  // Not within a character: up to three bytes that may become one wait for the next token.
  size_t end = text.size();
  for (size_t n = 1; n <= std::min<size_t>(3, end); ++n) {
    const uint8_t b = uint8_t(text[end - n]);
    if ((b & 0xc0) == 0x80) continue;
    const size_t whole = b >= 0xf0 && b < 0xf5 ? 4 : b >= 0xe0 && b < 0xf0 ? 3 : b >= 0xc2 && b < 0xe0 ? 2 : 1;
    if (whole > n) end -= n;
    break;
  }
  std::string out = end > shown_ ? text.substr(shown_, end - shown_) : "";
  shown_ = std::max(shown_, end);
  // Old tokens are dropped where the text is whole; the last ones stay, for decoders that look at neighbours.
  constexpr size_t kKept = 8, kMost = 64;
  if (ids_.size() > kMost && shown_ == text.size()) {
    ids_.erase(ids_.begin(), ids_.end() - kKept);
    shown_ = tokenizer_.decode(ids_, skip_special_tokens_).size();
  }
  return out;
}
std::string TokenStream::finish() {
  const std::string text = tokenizer_.decode(ids_, skip_special_tokens_);
  std::string out = text.size() > shown_ ? text.substr(shown_) : "";
  ids_.clear();
  shown_ = 0;
  return out;
}

}  // namespace dyadic::inline v1
