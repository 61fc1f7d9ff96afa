// The ledger's limit, for those who go around it for a while.
#pragma once
#include "dyadic/device.h"

namespace dyadic::inline v1 {

int64_t memory_limit(Device d = cpu);  // bytes; 0: there is none

struct WithoutLimit {
  const int64_t limit = memory_limit();
  WithoutLimit() { set_memory_limit(0); }
  ~WithoutLimit() { set_memory_limit(limit); }
  WithoutLimit(const WithoutLimit&) = delete;
};

}  // namespace dyadic::inline v1
