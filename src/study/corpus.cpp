// Text as tokens, split, cut into windows and batches.
#include "study/corpus.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "base/sha256.h"
#include "study/corpus_files.h"

namespace dyadic::inline v1::study {

namespace {
double entropy(std::span<const int64_t> counts) {
  const int64_t total = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  double nats = 0;
  for (int64_t n : counts) {
    if (n > 0) nats -= double(n) / double(total) * std::log(double(n) / double(total));
  }
  return total > 0 ? nats : kUnknown;
}

// Code points of the text, file by file: broken UTF-8 is reported where the file says it, and never hidden by a neighbour.
std::vector<char32_t> decode_files(std::string_view text, const CorpusInfo& info) {
  std::vector<char32_t> chars;
  chars.reserve(text.size());
  for (const CorpusFile& file : info.files) {
    const std::string_view part = text.substr(0, size_t(file.bytes));
    text.remove_prefix(part.size());
    for (size_t at = 0; at < part.size();) {
      char32_t c = 0;
      DY_CHECK_AS(ValueError, next_code_point(part, at, c),
                  "data: the text is not UTF-8: {} is broken at byte {}; use --tokens bytes", file.path, at);
      chars.push_back(c);
    }
  }
  return chars;
}

size_t utf8_size(std::span<const char32_t> chars) {
  size_t n = 0;
  for (char32_t c : chars) n += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  return n;
}
}  // namespace

Corpus Corpus::load(std::span<const std::string> paths, TokenKind tokens) {
  if (paths.empty()) return from_text(std::string(builtin_text()), tokens, "built-in");
  CorpusText read = read_corpus_files(paths);
  CorpusInfo info;
  for (const std::string& path : paths) info.source += (info.source.empty() ? "" : ", ") + printable(path);
  DY_CHECK_AS(ValueError, !read.text.empty(), "data: there is no text in: {}{}{}; give text files or folders that hold some",
              info.source, read.notes.empty() ? "" : ": ", read.notes.empty() ? "" : read.notes.front());
  info.files = std::move(read.files);
  info.notes = std::move(read.notes);
  return build(std::move(read.text), tokens, std::move(info));
}

Corpus Corpus::from_text(std::string text, TokenKind tokens, std::string source) {
  CorpusInfo info;
  info.files.push_back({source, int64_t(text.size())});
  info.source = std::move(source);
  return build(std::move(text), tokens, std::move(info));
}

Corpus Corpus::build(std::string text, TokenKind tokens, CorpusInfo info) {
  Corpus c;
  info.tokens = token_kind_name(tokens);
  info.bytes = int64_t(text.size());
  Sha256 hash;
  hash.update(text.data(), text.size());
  info.sha256 = hash.hex();

  size_t val_begin = 0;  // in bytes
  if (tokens == TokenKind::bytes) {
    c.n_ = int64_t(text.size());
    c.train_ = c.n_ / 10 * 9 + c.n_ % 10 * 9 / 10;
    val_begin = size_t(c.train_);
    c.small_.assign(text.begin(), text.end());
  } else {
    const std::vector<char32_t> chars = decode_files(text, info);
    c.n_ = int64_t(chars.size());
    c.train_ = c.n_ / 10 * 9 + c.n_ % 10 * 9 / 10;
    val_begin = utf8_size(std::span(chars).first(size_t(c.train_)));
    std::vector<uint32_t> id(0x110000, 0);
    for (char32_t x : chars) id[x] = 1;
    std::vector<char32_t> distinct;
    for (uint32_t x = 0; x < id.size(); ++x) {
      if (id[x]) id[x] = uint32_t(distinct.size()), distinct.push_back(x);
    }
    if (distinct.size() <= 256) {
      c.small_.reserve(chars.size());
      for (char32_t x : chars) c.small_.push_back(uint8_t(id[x]));
    } else {
      c.large_.reserve(chars.size());
      for (char32_t x : chars) c.large_.push_back(id[x]);
    }
    c.vocabulary_ = Vocabulary(std::move(distinct));
  }

  std::vector<int64_t> bytes(256), ids(size_t(c.vocabulary_.size()));
  for (size_t i = val_begin; i < text.size(); ++i) ++bytes[uint8_t(text[i])];
  for (int64_t i = c.train_; i < c.n_; ++i) ++ids[c.large_.empty() ? c.small_[size_t(i)] : c.large_[size_t(i)]];
  info.unigram_nats = entropy(bytes);
  info.unigram_token_nats = entropy(ids);
  info.vocabulary = c.vocabulary_.size();
  info.train_tokens = c.train_size();
  info.val_tokens = c.val_size();
  c.info_ = std::move(info);
  return c;
}

void Corpus::copy(int64_t begin, int64_t count, int64_t* out) const {
  DY_ASSERT(begin >= 0 && count >= 0 && begin + count <= n_);
  if (large_.empty()) {
    std::copy_n(small_.begin() + begin, count, out);
  } else {
    std::copy_n(large_.begin() + begin, count, out);
  }
}

void Corpus::require(int64_t block, int64_t batch) const {
  const int64_t wanted = block * batch + 1;
  DY_CHECK_AS(
      ValueError, train_ >= wanted && val_size() >= 2,
      "data: fewer tokens than one batch: the training part of {} is {} tokens, a batch of {} windows of {} takes {}; give "
      "more text or a smaller preset",
      info_.source, train_, batch, block, wanted);
}

TextBatches::TextBatches(const Corpus& corpus, int64_t block, int64_t batch, uint64_t seed)
    : corpus_(&corpus), block_(block), batch_(batch), seed_(seed) {
  corpus.require(block, batch);
}

int64_t TextBatches::start(int64_t step, int64_t i) const {
  constexpr uint64_t kStream = uint64_t{0x64617461} << 32;  // far from the streams that weights and dropout count up from 0
  return int64_t(random_below(seed_, kStream, uint64_t(step * batch_ + i), uint64_t(corpus_->train_size() - block_)));
}

void TextBatches::fill(int64_t step, int64_t* inputs, int64_t* targets) const {
  for (int64_t i = 0; i < batch_; ++i) {
    const int64_t at = start(step, i);
    corpus_->copy(at, block_, inputs + i * block_);
    corpus_->copy(at + 1, block_, targets + i * block_);
  }
}

std::vector<Window> validation_windows(const Corpus& corpus, int64_t block) {
  std::vector<Window> windows;
  const int64_t last = corpus.size() - 1;  // the last token is a target only
  for (int64_t at = corpus.train_size(); at < last; at += block) windows.push_back({at, std::min(block, last - at)});
  return windows;
}

}  // namespace dyadic::inline v1::study
