// Time that only goes on.
#pragma once
#include <chrono>

namespace dyadic::inline v1 {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace dyadic::inline v1
