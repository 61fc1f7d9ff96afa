// The memory of a simulated device: addresses that nobody can read or write but while work of the device runs, so that host
// code that takes them for its own faults.
#pragma once
#include <cstdint>

#include "plugins/cuda/runtime/addresses.h"

namespace dyadic::gpu::sim {

class Memory {
 public:
  explicit Memory(int64_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;

  // Holds NaNs, as long as that costs no more than kFilled. At the end of all addresses in use as long as there are some, so
  // that one lies beside the other.
  void* take(int64_t bytes);
  void give(void* p, int64_t bytes);
  char* find_place(int64_t bytes) const { return addresses_.find(bytes); }
  void move(void* p, int64_t bytes, void* to);
  int64_t total() const { return total_; }
  int64_t free() const { return free_; }
  void open(bool yes);

 private:
  static constexpr int64_t kRoom = 16;  // addresses for each byte that there is
  static constexpr int64_t kFilled = 64 << 20;
  const int64_t total_;
  int64_t free_;
  void* all_ = nullptr;
  Addresses addresses_;
  bool open_ = false;
};

}  // namespace dyadic::gpu::sim
