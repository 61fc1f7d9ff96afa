// The text a study trains on: files and folders, or the snapshot built into the binary; its tokens, their split, and the
// batches.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dyadic/study_result.h"
#include "study/vocabulary.h"

namespace dyadic::inline v1::study {

// Tokens of the whole corpus. The first floor(0.9 n) are for training, the rest is validation.
class Corpus {
 public:
  // Files as given; folders recursively, sorted by path. In a folder, hidden files, files with a NUL byte (not text) and
  // unreadable ones are left out, with a line in info().notes; named explicitly they are an error (hidden ones are read).
  // Empty `paths`: the built-in corpus. ValueError names the file and the way out.
  static Corpus load(std::span<const std::string> paths, TokenKind tokens);
  static Corpus from_text(std::string text, TokenKind tokens, std::string source = "text");
  static std::string_view builtin_text();

  int64_t size() const { return n_; }
  int64_t train_size() const { return train_; }
  int64_t val_size() const { return n_ - train_; }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const CorpusInfo& info() const { return info_; }

  void copy(int64_t begin, int64_t count, int64_t* out) const;  // tokens [begin, begin + count) of the whole

  // ValueError unless training holds one batch (batch * block + 1 tokens) and validation two tokens.
  void require(int64_t block, int64_t batch) const;

 private:
  static Corpus build(std::string text, TokenKind tokens, CorpusInfo info);
  int64_t n_ = 0, train_ = 0;
  std::vector<uint8_t> small_;   // ids, when the vocabulary has at most 256
  std::vector<uint32_t> large_;  // else
  Vocabulary vocabulary_;
  CorpusInfo info_;
};

// Batches of random windows of the training part. The windows of a step depend on (seed, step) alone, so that the position in
// the data is the step number: window i of step s starts where random_below gives it for element s * batch + i of a stream of
// its own.
class TextBatches {
 public:
  TextBatches(const Corpus& corpus, int64_t block, int64_t batch,
              uint64_t seed);  // borrows the corpus; checks as require() does
  int64_t start(int64_t step, int64_t i) const;
  // inputs and targets (inputs shifted by one), batch x block each, row after row.
  void fill(int64_t step, int64_t* inputs, int64_t* targets) const;

 private:
  const Corpus* corpus_;
  int64_t block_, batch_;
  uint64_t seed_;
};

// The whole validation part in non-overlapping windows of `block` targets; the last may be shorter. val_size() - 1 targets.
struct Window {
  int64_t begin = 0;   // of its inputs, in the whole corpus; targets begin one later
  int64_t length = 0;  // targets
};
std::vector<Window> validation_windows(const Corpus& corpus, int64_t block);

}  // namespace dyadic::inline v1::study
