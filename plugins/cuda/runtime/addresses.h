// A range of addresses of which parts are taken: one behind the other as long as there are some, then wherever there is a hole.
#pragma once
#include <cstdint>
#include <iterator>
#include <map>

namespace dyadic::gpu {

class Addresses {
 public:
  void reserve(void* begin, int64_t bytes) { begin_ = static_cast<char*>(begin), end_ = begin_ + bytes; }
  explicit operator bool() const { return begin_; }

  char* find(int64_t bytes) const {  // null: nothing fits
    char* const behind = taken_.empty() ? begin_ : end_of(std::prev(taken_.end()));
    if (end_ - behind >= bytes) return behind;
    char* hole = begin_;
    for (auto t = taken_.begin(); t != taken_.end(); ++t) {
      if (t->first - hole >= bytes) return hole;
      hole = end_of(t);
    }
    return nullptr;
  }
  void take(char* p, int64_t bytes) { taken_[p] = bytes; }
  void give(void* p) { taken_.erase(static_cast<char*>(p)); }
  template <class F> void each_run(F&& f) const {  // f(begin, bytes) of what lies side by side
    for (auto t = taken_.begin(); t != taken_.end();) {
      char *const begin = t->first, *end = begin;
      for (; t != taken_.end() && t->first == end; ++t) end = end_of(t);
      f(begin, int64_t(end - begin));
    }
  }

 private:
  using At = std::map<char*, int64_t>::const_iterator;
  static char* end_of(At t) { return t->first + t->second; }
  char *begin_ = nullptr, *end_ = nullptr;
  std::map<char*, int64_t> taken_;
};

}  // namespace dyadic::gpu
