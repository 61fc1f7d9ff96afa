// Words that were encoded before, and their ids: most words of a text are its few hundred most frequent ones. Loans of caches
// to threads, so that no two share one.
#pragma once
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "text/stages.h"

namespace dyadic::inline v1::text {

class WordCache {
  struct Entry {  // one cache line
    uint8_t length = 0, count = 0;
    char word[30];
    int32_t ids[8];
  };
  static_assert(sizeof(Entry) == 64);
  static constexpr size_t kEntries = 1 << 14;
  std::vector<Entry> entries_ = std::vector<Entry>(kEntries);

  static size_t place(std::string_view word) {
    uint64_t h = word.size() * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < word.size(); i += 8) {
      uint64_t part = 0;
      std::memcpy(&part, word.data() + i, std::min<size_t>(8, word.size() - i));
      h = (h ^ part) * 0xff51afd7ed558ccdu;
      h ^= h >> 32;
    }
    return h & (kEntries - 1);
  }

 public:
  template <class Encode> void encode(std::string_view word, Ids& ids, Encode encode) {
    if (word.empty() || word.size() > sizeof(Entry::word)) return encode();
    Entry& e = entries_[place(word)];
    if (e.length == word.size() && std::memcmp(e.word, word.data(), word.size()) == 0) {
      ids.insert(ids.end(), e.ids, e.ids + e.count);
      return;
    }
    const size_t before = ids.size();
    encode();
    const size_t n = ids.size() - before;
    if (n > std::size(e.ids)) return;
    e.length = uint8_t(word.size());
    e.count = uint8_t(n);
    std::memcpy(e.word, word.data(), word.size());
    for (size_t i = 0; i < n; ++i) e.ids[i] = int32_t(ids[before + i]);
  }
};

class WordCaches {
  std::mutex mutex_;
  std::vector<std::unique_ptr<WordCache>> idle_;

 public:
  class Loan {
    WordCaches& owner_;
    std::unique_ptr<WordCache> cache_;

   public:
    explicit Loan(WordCaches& owner) : owner_(owner) {
      std::lock_guard lock(owner.mutex_);
      if (!owner.idle_.empty()) cache_ = std::move(owner.idle_.back()), owner.idle_.pop_back();
      if (!cache_) cache_ = std::make_unique<WordCache>();
    }
    ~Loan() {
      std::lock_guard lock(owner_.mutex_);
      owner_.idle_.push_back(std::move(cache_));
    }
    Loan(const Loan&) = delete;
    WordCache& operator*() { return *cache_; }
  };
};

}  // namespace dyadic::inline v1::text
