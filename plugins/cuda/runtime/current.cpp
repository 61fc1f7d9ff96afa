#include "plugins/cuda/runtime/current.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "plugins/cuda/kernel.h"

namespace dyadic::gpu {
namespace {

constinit thread_local int t_device = 0, t_call = 0;
constinit thread_local void* t_streams[kMaxDevices]{};

// The last calls by number, for errors that arrive late.
constexpr unsigned kCalls = 1 << 14;
struct Called {
  std::atomic<int> number{0};
  std::atomic<const char*> op{nullptr};
};
Called g_calls[kCalls];
std::atomic<int> g_last{0};

}  // namespace

void enter_device(int device) {
  t_device = device;
  driver::use(device);
}
int current_device() { return t_device; }
void* chosen_stream(int device) { return t_streams[device]; }
void choose_stream(int device, void* stream) { t_streams[device] = stream; }
void* current_stream() { return stream_or_first(t_device, t_streams[t_device]); }

void enter_call(const char* op) {
  t_call = g_last.fetch_add(1, std::memory_order_relaxed) + 1;
  Called& c = g_calls[unsigned(t_call) % kCalls];
  c.op.store(op, std::memory_order_relaxed);
  c.number.store(t_call, std::memory_order_release);
}
int op_number() { return t_call; }
std::string name_of_call(int number) {
  const Called& c = g_calls[unsigned(number) % kCalls];
  const char* const op = c.op.load(std::memory_order_relaxed);
  return op && c.number.load(std::memory_order_acquire) == number ? op : "cuda";
}
Failure* failures() { return driver::failures(t_device); }

int multiprocessors() {
  static const std::vector<int> of_device = [] {
    std::vector<int> all;
    for (int i = 0; i < driver::count(); ++i) all.push_back(driver::properties(i).multiprocessors);
    return all;
  }();
  return of_device[size_t(t_device)];
}
Grid grid_for(int64_t n, int64_t each, int threads) {
  constexpr int kThreads = 2048, kWaves = 2;  // threads of a multiprocessor; blocks that it gets one after another
  const int64_t whole = each * threads, most = int64_t(multiprocessors()) * (kThreads / threads) * kWaves;
  return {.blocks = std::min((n + whole - 1) / whole, most), .threads = threads};
}

}  // namespace dyadic::gpu
