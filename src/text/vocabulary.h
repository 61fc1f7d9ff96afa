// Tokens and their ids, and the hash table that merges and tries are kept in.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dyadic::inline v1::text {

// Keys above 0 to values; grows, never shrinks.
template <class V> class FlatMap {
  struct Slot {
    uint64_t key = 0;  // key + 1
    V value{};
  };
  std::vector<Slot> slots_;
  size_t size_ = 0;
  static uint64_t hash(uint64_t k) {
    k *= 0x9e3779b97f4a7c15u;
    return k ^ k >> 29;
  }
  Slot& place(uint64_t key) {
    size_t i = hash(key) & (slots_.size() - 1);
    while (slots_[i].key && slots_[i].key != key + 1) i = (i + 1) & (slots_.size() - 1);
    return slots_[i];
  }

 public:
  explicit FlatMap(size_t expected = 8) {
    size_t n = 16;
    while (n < expected * 2) n *= 2;
    slots_.resize(n);
  }
  // The value of a key, which is made if it is not there; true: it was made.
  std::pair<V*, bool> emplace(uint64_t key, V value) {
    if (++size_ * 2 > slots_.size()) {
      std::vector<Slot> old(slots_.size() * 2);
      old.swap(slots_);
      for (const Slot& s : old)
        if (s.key) place(s.key - 1) = s;
    }
    Slot& s = place(key);
    if (s.key) {
      --size_;
      return {&s.value, false};
    }
    s = {key + 1, value};
    return {&s.value, true};
  }
  const V* find(uint64_t key) const {
    const Slot& s = const_cast<FlatMap*>(this)->place(key);
    return s.key ? &s.value : nullptr;
  }
};

class Vocabulary {
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
  std::vector<std::string_view> tokens_;  // of ids_; no data(): no such token

 public:
  void reserve(size_t n) {
    ids_.reserve(n);
    tokens_.reserve(n);
  }
  // The first id that a token is given stays its id; a second one still has its text.
  void add(std::string_view token, int32_t id) {
    if (size_t(id) >= tokens_.size()) tokens_.resize(size_t(id) + 1);
    tokens_[size_t(id)] = ids_.emplace(token, id).first->first;
  }
  std::optional<int32_t> find(std::string_view token) const {
    auto at = ids_.find(token);
    return at == ids_.end() ? std::nullopt : std::optional(at->second);
  }
  bool has(int64_t id) const { return id >= 0 && size_t(id) < tokens_.size() && tokens_[size_t(id)].data(); }
  std::string_view token(int64_t id) const { return has(id) ? tokens_[size_t(id)] : std::string_view(); }
  size_t size() const { return tokens_.size(); }
};

}  // namespace dyadic::inline v1::text
