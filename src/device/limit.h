// The ledger's limit, for those who go around it for a while.
#pragma once
#include "dyadic/device.h"

namespace dyadic::inline v1 {

int64_t memory_limit(Device d = cpu);  // bytes; 0: there is none

struct OtherLimit {
  const int64_t limit = memory_limit();  // before
  explicit OtherLimit(int64_t bytes) { set_memory_limit(bytes); }
  ~OtherLimit() { set_memory_limit(limit); }
  OtherLimit(const OtherLimit&) = delete;
};
struct WithoutLimit : OtherLimit {
  WithoutLimit() : OtherLimit(0) {}
};

}  // namespace dyadic::inline v1
