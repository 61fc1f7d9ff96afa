// The plug-in's answers to the core: dyadic_backend, over a driver, a pool for each device and the registry of kernels.
#include "device/backend.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "base/check.h"
#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/runtime/current.h"
#include "plugins/cuda/runtime/pool.h"
#include "plugins/cuda/runtime/registry.h"

namespace dyadic::gpu {
namespace {

void raise_failures(int device) {
  Failure* const f = driver::failures(device);
  if (std::atomic_ref(f->fault).load(std::memory_order_acquire) == int(Fault::none)) [[likely]]
    return;
  const Failure found = *f;
  std::atomic_ref(f->fault).store(int(Fault::none));
  fail<IndexError>("{}: index out of range: {} of {}", name_of_call(found.op), found.value, found.limit);
}

class CudaBackend : public Backend {
  std::unique_ptr<Pool> pools_[kMaxDevices];
  Pool& pool(int device) { return *pools_[device]; }
  static void* mine(int device) { return stream_or_first(device, chosen_stream(device)); }  // this thread's stream

 public:
  CudaBackend() {
    for (int i = 0; i < kMaxDevices; ++i) pools_[i] = std::make_unique<Pool>(i);
  }

  std::string why_none() override { return driver::why_none(); }
  int count() override { return std::min(driver::count(), kMaxDevices); }
  DeviceProperties properties(int device) override { return driver::properties(device); }
  std::string versions() override { return driver::versions(); }
  std::string architectures() override { return driver::architectures(); }
  void use(int device, const char* op) override {
    enter_device(device);
    if (op) enter_call(op);
  }

  void* allocate(int device, int64_t bytes) override { return pool(device).allocate(bytes, mine(device)); }
  void release(int device, void* p, int64_t) noexcept override {
    if (!p) return;
    try {
      pool(device).release(p);
    } catch (const std::exception&) {  // a driver that answers no more, as at the process's end: what it had is gone
    }
  }
  void trim() override {
    for (int i = 0; i < count(); ++i) pool(i).trim();
  }
  int64_t reserved(int device) override { return pool(device).reserved(); }
  int64_t driver_allocations(int device) override { return pool(device).driver_allocations(); }
  void free_and_total(int device, int64_t* free, int64_t* total) override { driver::free_and_total(device, free, total); }
  void used_on(int device, void* p, void* stream) override { pool(device).used_on(p, stream_or_first(device, stream)); }

  void copy(Device to, void* target, Device from, const void* source, int64_t bytes) override {
    if (bytes == 0) return;
    if (from.is_cuda() && to.is_cuda() && from != to) return copy_between(to, target, from, source, bytes);
    if (to.is_cuda()) {
      const driver::Way way = from.is_cuda() ? driver::Way::within : driver::Way::to_device;
      return driver::copy(int(to.index()), target, source, bytes, way, mine(int(to.index())));
    }
    driver::copy(int(from.index()), target, source, bytes, driver::Way::to_host, mine(int(from.index())));
    wait_stream(int(from.index()), chosen_stream(int(from.index())));
  }
  void synchronize(int device) override {
    driver::wait_device(device);
    raise_failures(device);
  }

  void* new_stream(int device, int priority) override { return driver::new_stream(device, priority); }
  void delete_stream(int device, void* stream) override {
    driver::finish_stream(device, stream);
    pool(device).forget(stream);
    driver::delete_stream(device, stream);
  }
  void* current_stream(int device) override { return chosen_stream(device); }
  void set_stream(int device, void* stream) override { choose_stream(device, stream); }
  bool stream_done(int device, void* stream) override { return driver::stream_done(device, stream_or_first(device, stream)); }
  void wait_stream(int device, void* stream) override {
    driver::wait_stream(device, stream_or_first(device, stream));
    raise_failures(device);
  }
  void* new_event(int device, bool timed) override { return driver::new_event(device, timed); }
  void delete_event(void* event) override { driver::delete_event(event); }
  void record_event(int device, void* event, void* stream) override {
    driver::record_event(device, event, stream_or_first(device, stream));
  }
  void wait_event(int device, void* stream, void* event) override {
    driver::wait_event(device, stream_or_first(device, stream), event);
  }
  bool event_done(void* event) override { return driver::event_done(event); }
  void synchronize_event(void* event) override { driver::synchronize_event(event); }
  double milliseconds(void* from, void* to) override { return driver::milliseconds(from, to); }

  const Kernel* kernel(const char* op, int gradient) override { return find_kernel(op, gradient); }
  int64_t assign_room(const Operand& target, const Operand& source) override { return gpu::assign_room(target, source); }
  void assign(const Array& target, const Array& source, const Round& round, void* workspace) override {
    gpu::assign(target, source, round, workspace);
  }

 private:
  // In the order of both devices' streams.
  void copy_between(Device to, void* target, Device from, const void* source, int64_t bytes) {
    const int there = int(to.index()), here = int(from.index());
    void *const onto = mine(there), *const off = mine(here);
    void *const written = driver::new_event(here, false), *const read = driver::new_event(there, false);
    driver::record_event(here, written, off);
    driver::wait_event(there, onto, written);
    driver::copy_between(there, target, here, source, bytes, onto);
    driver::record_event(there, read, onto);
    driver::wait_event(here, off, read);
    driver::delete_event(written);
    driver::delete_event(read);
  }
};

}  // namespace

}  // namespace dyadic::gpu

extern "C" __attribute__((visibility("default"))) dyadic::Backend* dyadic_backend(int version) {
  if (version != dyadic::kBackendVersion) return nullptr;
  static auto* const made = new dyadic::gpu::CudaBackend;
  return made;
}
