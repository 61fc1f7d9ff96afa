// The CUDA runtime as the backend's driver.
#include <cuda.h>

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "dyadic/error.h"
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/runtime/addresses.h"
#include "plugins/cuda/runtime/current.h"

namespace dyadic::gpu {

void* driver_function(const char* name) {
  void* p = nullptr;
  cudaDriverEntryPointQueryResult found;
#if CUDART_VERSION >= 12050
  const cudaError_t status = cudaGetDriverEntryPointByVersion(name, &p, 12000, cudaEnableDefault, &found);
#else
  const cudaError_t status = cudaGetDriverEntryPoint(name, &p, cudaEnableDefault, &found);
#endif
  if (status != cudaSuccess) cudaGetLastError();
  return p;
}

namespace {

// A context is lost with the first fault of a kernel: the process goes on, its devices do not.
bool is_lost(cudaError_t status) {
  return status == cudaErrorIllegalAddress || status == cudaErrorLaunchFailure || status == cudaErrorIllegalInstruction ||
         status == cudaErrorMisalignedAddress || status == cudaErrorInvalidAddressSpace || status == cudaErrorInvalidPc ||
         status == cudaErrorHardwareStackError || status == cudaErrorAssert || status == cudaErrorECCUncorrectable;
}

[[noreturn]] void raise(cudaError_t status, const char* what) {
  cudaGetLastError();
  std::string text = name_of_call(op_number()) + ": " + what + ": " + cudaGetErrorString(status);
  if (is_lost(status))
    text +=
        "; a kernel of this call or of one before it failed, and no device works any more in this process: start it anew "
        "(CUDA_LAUNCH_BLOCKING=1 names the call)";
  throw Error(text);
}
void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) raise(status, what);
}

template <class F> void find(const char* name, F& f) { f = reinterpret_cast<F>(driver_function(name)); }

struct Count {
  int devices = 0;
  std::string why_none;
};
std::string version_text(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }

Count count_devices() {
  int driver = 0, n = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return {0, "there is no NVIDIA driver (libcuda.so.1)"};
  const cudaError_t status = cudaGetDeviceCount(&n);
  cudaGetLastError();
  if (status == cudaErrorInsufficientDriver)
    return {0, "the NVIDIA driver is for CUDA " + version_text(driver) + ", this plug-in needs one for " +
                   version_text(CUDART_VERSION) + " or newer"};
  if (status == cudaErrorNoDevice || (status == cudaSuccess && n == 0))
    return {0, "the NVIDIA driver finds no GPU (CUDA_VISIBLE_DEVICES may hide it)"};
  if (status != cudaSuccess) return {0, std::string("the NVIDIA driver says: ") + cudaGetErrorString(status)};
  for (int i = 0; i < n; ++i) {
    int major = 0;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, i);
    if (major < 8) {
      if (i == 0)
        return {0, "the first GPU is of compute capability " + std::to_string(major) + "; 8.0 is the lowest (Ampere)"};
      n = i;  // those before it
    }
  }
  return {n, ""};
}
const Count& counted() {
  static const Count* const c = new Count(count_devices());
  return *c;
}

thread_local int t_used = -1;

struct On {  // what follows is of this device; afterwards the thread is back where the backend has it
  explicit On(int device) { driver::use(device); }
  ~On() {
    const int device = current_device();
    if (t_used != device && cudaSetDevice(device) == cudaSuccess) t_used = device;
  }
  On(const On&) = delete;
};

// Addresses reserved once, to which segments are mapped one behind the other; or cudaMalloc's, where a device cannot do that.
class Segments {
  struct Calls {
    decltype(&cuMemAddressReserve) reserve = nullptr;
    decltype(&cuMemCreate) create = nullptr;
    decltype(&cuMemMap) map = nullptr;
    decltype(&cuMemSetAccess) set_access = nullptr;
    decltype(&cuMemUnmap) unmap = nullptr;
    decltype(&cuMemRelease) release = nullptr;
  };
  static constexpr int kRoom = 16;  // addresses for each byte of memory
  std::mutex mutex_;
  int device_ = 0;
  Calls calls_;
  Addresses addresses_;
  std::map<void*, CUmemGenericAllocationHandle> handles_;

  CUmemAllocationProp property() const {
    CUmemAllocationProp p{};
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
    return p;
  }

  bool map(void* at, int64_t bytes, CUmemGenericAllocationHandle handle) {
    const auto address = reinterpret_cast<CUdeviceptr>(at);
    const CUmemAccessDesc access{property().location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    if (calls_.map(address, size_t(bytes), 0, handle, 0) != CUDA_SUCCESS) return false;
    if (calls_.set_access(address, size_t(bytes), &access, 1) == CUDA_SUCCESS) return true;
    calls_.unmap(address, size_t(bytes));
    return false;
  }

 public:
  explicit Segments(int device) : device_(device) {
    decltype(&cuDeviceGetAttribute) attribute = nullptr;
    find("cuDeviceGetAttribute", attribute);
    find("cuMemAddressReserve", calls_.reserve);
    find("cuMemCreate", calls_.create);
    find("cuMemMap", calls_.map);
    find("cuMemSetAccess", calls_.set_access);
    find("cuMemUnmap", calls_.unmap);
    find("cuMemRelease", calls_.release);
    int able = 0;
    if (attribute) attribute(&able, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device);
    if (!able || !calls_.reserve || !calls_.create || !calls_.map || !calls_.set_access || !calls_.unmap || !calls_.release)
      return;
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    const size_t room = (total + driver::kGrain - 1) / driver::kGrain * driver::kGrain * kRoom;
    CUdeviceptr at = 0;
    if (calls_.reserve(&at, room, driver::kGrain, 0, 0) != CUDA_SUCCESS) return;
    addresses_.reserve(reinterpret_cast<void*>(at), int64_t(room));
  }
  bool side_by_side() const { return bool(addresses_); }

  void* take(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!addresses_) {
      void* p = nullptr;
      if (cudaMalloc(&p, size_t(bytes)) == cudaSuccess) return p;
      cudaGetLastError();
      return nullptr;
    }
    char* const at = addresses_.find(bytes);
    const CUmemAllocationProp p = property();
    CUmemGenericAllocationHandle handle;
    if (!at || calls_.create(&handle, size_t(bytes), &p, 0) != CUDA_SUCCESS) return nullptr;
    if (!map(at, bytes, handle)) {
      calls_.release(handle);
      return nullptr;
    }
    addresses_.take(at, bytes);
    handles_[at] = handle;
    return at;
  }
  void give(void* p, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!addresses_) return void(cudaFree(p));
    calls_.unmap(reinterpret_cast<CUdeviceptr>(p), size_t(bytes));
    calls_.release(handles_.extract(p).mapped());
    addresses_.give(p);
  }
  char* find_place(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    return addresses_.find(bytes);
  }
  void move(void* p, int64_t bytes, void* to) {
    const std::lock_guard lock(mutex_);
    const CUmemGenericAllocationHandle handle = handles_.extract(p).mapped();
    calls_.unmap(reinterpret_cast<CUdeviceptr>(p), size_t(bytes));
    addresses_.give(p);
    if (!map(to, bytes, handle)) throw Error("cuda: the driver does not map memory that it has unmapped");
    addresses_.take(static_cast<char*>(to), bytes);
    handles_[to] = handle;
  }
};

struct Gpu {
  int device;
  cudaStream_t first = nullptr;
  Failure* failure = nullptr;
  Segments segments;
  explicit Gpu(int i) : device(i), segments(i) {
    // Ordered with the legacy stream, on which other libraries of the process may work.
    check(cudaStreamCreate(&first), "a stream");
    void* p = nullptr;
    check(cudaHostAlloc(&p, sizeof(Failure), cudaHostAllocMapped | cudaHostAllocPortable), "pinned memory");
    failure = new (p) Failure{};
  }
};
Gpu& gpu(int device) {
  static std::mutex mutex;
  static std::atomic<Gpu*> all[kMaxDevices];
  if (Gpu* g = all[device].load(std::memory_order_acquire)) return *g;
  const std::lock_guard lock(mutex);
  if (Gpu* g = all[device].load()) return *g;
  const On on(device);
  auto* made = new Gpu(device);
  all[device].store(made, std::memory_order_release);
  return *made;
}
cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

}  // namespace

cudaStream_t stream() { return stream_of(current_stream()); }
void check_launch(cudaError_t status) { check(status, "a kernel was not launched"); }

namespace driver {

int count() { return counted().devices; }
std::string why_none() { return counted().why_none; }

DeviceProperties properties(int device) {
  cudaDeviceProp p;
  check(cudaGetDeviceProperties(&p, device), "a device's properties");
  return {p.name, p.major, p.minor, int64_t(p.totalGlobalMem), p.multiProcessorCount, p.l2CacheSize};
}

std::string versions() {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  return "CUDA driver " + version_text(driver) + ", runtime " + version_text(runtime);
}
std::string architectures() { return DYADIC_CUDA_MACHINE_CODE; }

void use(int device) {
  if (t_used == device) return;
  check(cudaSetDevice(device), "cudaSetDevice");
  t_used = device;
}

bool taken_side_by_side(int device) { return gpu(device).segments.side_by_side(); }
void* take(int device, int64_t bytes) {
  const On on(device);
  return gpu(device).segments.take(bytes);
}
void give(int device, void* segment, int64_t bytes) {
  const On on(device);
  gpu(device).segments.give(segment, bytes);
}
char* find_place(int device, int64_t bytes) { return gpu(device).segments.find_place(bytes); }
void move(int device, void* segment, int64_t bytes, void* to) {
  const On on(device);
  gpu(device).segments.move(segment, bytes, to);
}
void free_and_total(int device, int64_t* free, int64_t* total) {
  const On on(device);
  size_t f = 0, t = 0;
  check(cudaMemGetInfo(&f, &t), "cudaMemGetInfo");
  *free = int64_t(f), *total = int64_t(t);
}

void* first_stream(int device) { return gpu(device).first; }
void* new_stream(int device, int priority) {
  const On on(device);
  cudaStream_t s = nullptr;
  check(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, priority), "a stream");
  return s;
}
void delete_stream(int device, void* stream) {
  const On on(device);
  cudaStreamDestroy(stream_of(stream));
}
void finish_stream(int, void* stream) {
  if (cudaStreamSynchronize(stream_of(stream)) != cudaSuccess) cudaGetLastError();
}
bool stream_done(int, void* stream) {
  const cudaError_t status = cudaStreamQuery(stream_of(stream));
  if (status != cudaErrorNotReady) return check(status, "a stream"), true;
  cudaGetLastError();
  return false;
}
void wait_stream(int, void* stream) { check(cudaStreamSynchronize(stream_of(stream)), "waiting for the device"); }
void wait_device(int device) {
  const On on(device);
  check(cudaDeviceSynchronize(), "waiting for the device");
}

void* new_event(int device, bool timed) {
  const On on(device);
  cudaEvent_t e = nullptr;
  check(cudaEventCreateWithFlags(&e, timed ? cudaEventDefault : cudaEventDisableTiming), "an event");
  return e;
}
void delete_event(void* event) { cudaEventDestroy(event_of(event)); }
void record_event(int device, void* event, void* stream) {
  const On on(device);
  check(cudaEventRecord(event_of(event), stream_of(stream)), "an event");
}
void wait_event(int device, void* stream, void* event) {
  const On on(device);
  check(cudaStreamWaitEvent(stream_of(stream), event_of(event)), "waiting for an event");
}
bool event_done(void* event) {
  const cudaError_t status = cudaEventQuery(event_of(event));
  if (status != cudaErrorNotReady) return check(status, "an event"), true;
  cudaGetLastError();
  return false;
}
void synchronize_event(void* event) { check(cudaEventSynchronize(event_of(event)), "waiting for an event"); }
double milliseconds(void* from, void* to) {
  float ms = 0;
  check(cudaEventSynchronize(event_of(to)), "waiting for an event");
  check(cudaEventElapsedTime(&ms, event_of(from), event_of(to)), "the time between two events");
  return ms;
}

void copy(int device, void* target, const void* source, int64_t bytes, Way way, void* stream) {
  const On on(device);
  const cudaMemcpyKind kind = way == Way::within      ? cudaMemcpyDeviceToDevice
                              : way == Way::to_device ? cudaMemcpyHostToDevice
                                                      : cudaMemcpyDeviceToHost;
  check(cudaMemcpyAsync(target, source, size_t(bytes), kind, stream_of(stream)), "a copy");
  if (way != Way::to_device) return;
  // Pageable memory has been read when the call returns; what somebody has pinned has not.
  cudaPointerAttributes a{};
  if (cudaPointerGetAttributes(&a, source) != cudaSuccess) cudaGetLastError();
  if (a.type != cudaMemoryTypeUnregistered) wait_stream(device, stream);
}
void copy_between(int to, void* target, int from, const void* source, int64_t bytes, void* stream) {
  const On on(to);
  check(cudaMemcpyPeerAsync(target, to, source, from, size_t(bytes), stream_of(stream)), "a copy between devices");
}

Failure* failures(int device) { return gpu(device).failure; }

}  // namespace driver
}  // namespace dyadic::gpu
