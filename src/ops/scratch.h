// A call's workspace, handed out piece by piece; without memory it only counts, for a plan's workspace.
#pragma once
#include "ops/common.h"

namespace dyadic::inline v1::ops {

class Scratch {
  char* base_;
  int64_t used_ = 0;

 public:
  explicit Scratch(void* base = nullptr) : base_(static_cast<char*>(base)) {}
  // n elements, null while counting.
  template <class T> T* take(int64_t n) {
    const int64_t at = used_;
    used_ += (n * int64_t(sizeof(T)) + 63) / 64 * 64;
    return base_ ? reinterpret_cast<T*>(base_ + at) : nullptr;
  }
  int64_t bytes() const { return used_; }
};

}  // namespace dyadic::inline v1::ops
