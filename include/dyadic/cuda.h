// Devices of the kind cuda: how many there are, what they are, their streams. There is none where the plug-in (./dev build
// --cuda) or NVIDIA's driver is missing; everything here but is_available(), device_count() and why_unavailable() is an Error
// then.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dyadic/device.h"

namespace dyadic::inline v1 {

class Tensor;

// While one lives, calls of this thread that their device has no kernel for run on the host: operands are copied there and
// results back. Without it such a call is an Error.
class CpuFallback {
  bool before_;

 public:
  explicit CpuFallback(bool on = true);
  ~CpuFallback();
  CpuFallback(const CpuFallback&) = delete;
};
// How often which op has gone by the host since the process began.
std::map<std::string, int64_t> cpu_fallback_calls();

namespace cuda {

void* data_ptr(const Tensor& t);  // where its first element lies on its device, for kernels of one's own

bool is_available();
int64_t device_count();
std::string why_unavailable();  // in a line; "" where there is one

int64_t current_device();  // of this thread: what Device("cuda") is
void set_device(int64_t index);
struct DeviceGuard {  // another current device while it lives
  explicit DeviceGuard(int64_t index);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;

 private:
  int64_t before_;
};

struct Properties {
  std::string name;
  int64_t major = 0, minor = 0;  // compute capability
  int64_t total_memory = 0;      // bytes
  int64_t multi_processor_count = 0;
  int64_t l2_cache_size = 0;  // bytes
};
Properties properties(int64_t index = -1);       // -1: of the current device, here and below
std::string versions();                          // of driver and toolkit
std::string architectures();                     // that the plug-in has machine code of: "sm_80 sm_90"
void synchronize(int64_t index = -1);            // until all that was called has run; raises what kernels have found wrong
int64_t memory_reserved(int64_t index = -1);     // bytes that the pool has taken from the driver
int64_t driver_allocations(int64_t index = -1);  // how often it has asked the driver
std::pair<int64_t, int64_t> mem_get_info(int64_t index = -1);  // free and total bytes, as the driver says

// A queue of work in order; work of different streams may overlap. The default one has no handle.
class Stream {
  struct Held;
  std::shared_ptr<Held> held_;
  Device device_;
  friend class Event;

 public:
  explicit Stream(int64_t index = -1, int priority = 0);
  static Stream of_default(int64_t index = -1);
  static Stream current(int64_t index = -1);
  Device device() const { return device_; }
  void* handle() const;  // cudaStream_t
  void synchronize() const;
  bool query() const;  // whether all of it has run
  void wait_stream(const Stream& other) const;
  friend bool operator==(const Stream& a, const Stream& b) { return a.device_ == b.device_ && a.handle() == b.handle(); }

 private:
  Stream(Device device, std::shared_ptr<Held> held);
  friend class StreamGuard;
};
class StreamGuard {  // this thread's calls go to the stream while it lives
  Stream before_;

 public:
  explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
};
class Event {
  struct Held;
  std::shared_ptr<Held> held_;
  bool timed_;

 public:
  explicit Event(bool enable_timing = false);
  void record(const Stream& stream = Stream::current());
  void wait(const Stream& stream = Stream::current()) const;  // the stream's later work waits
  bool query() const;
  void synchronize() const;
  double elapsed_time(const Event& end) const;  // milliseconds
};

}  // namespace cuda
}  // namespace dyadic::inline v1
