// A kind of device beside the host: what a plug-in (plugins/cuda) answers. The core links no GPU library: the plug-in is found
// when a program first asks for such a device.
//
// Note [Device memory]: a storage there has no `data`, so that host code which takes a pointer gets an error instead of a
// fault; `remote` is its address. Kernels run in the order of the current stream, and memory is freed in it: what is freed may
// be given away at once to work that is enqueued later on the same stream.
#pragma once
#include <cstdint>
#include <string>

#include "dyadic/device.h"
#include "dyadic/error.h"

namespace dyadic::inline v1 {

struct Array;   // tensor/operand.h
struct Kernel;  // corridor/op_def.h
struct Operand;
struct Round;  // formats/format.h

inline constexpr int kMaxDevices = 16;

struct DeviceProperties {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int64_t total_memory = 0;  // bytes
  int multiprocessors = 0;
  int64_t l2_bytes = 0;
};

// What a plan raises that has no code for its operands' formats: the call may go by the host.
class NoKernel : public Error {
 public:
  using Error::Error;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string why_none() = 0;  // why count() is 0, in a line: no driver, an old one
  virtual int count() = 0;
  virtual DeviceProperties properties(int device) = 0;
  virtual std::string versions() = 0;                // of driver, toolkit and libraries, for checkpoints and reports
  virtual std::string architectures() = 0;           // that there is machine code of: "sm_80 sm_90"
  virtual void use(int device, const char* op) = 0;  // the next calls of this thread are its; whose kernel runs, or null

  // Memory, 256-byte aligned; null: the device has no more.
  virtual void* allocate(int device, int64_t bytes) = 0;
  virtual void release(int device, void* p, int64_t bytes) noexcept = 0;
  virtual void trim() = 0;                             // free segments go back to the driver
  virtual int64_t reserved(int device) = 0;            // bytes taken from the driver
  virtual int64_t driver_allocations(int device) = 0;  // how often the driver was asked
  virtual void free_and_total(int device, int64_t* free, int64_t* total) = 0;

  // Bytes between devices and the host, in the order of the current streams. A copy that begins or ends at the host has
  // happened when it returns. Raises what kernels before it have found (an index out of range).
  virtual void copy(Device to, void* target, Device from, const void* source, int64_t bytes) = 0;
  virtual void synchronize(int device) = 0;

  // Streams and events, by handles; null is the device's first stream.
  virtual void* new_stream(int device, int priority) = 0;
  virtual void delete_stream(int device, void* stream) = 0;
  virtual void* current_stream(int device) = 0;
  virtual void set_stream(int device, void* stream) = 0;  // of this thread
  virtual bool stream_done(int device, void* stream) = 0;
  virtual void wait_stream(int device, void* stream) = 0;  // the host waits
  virtual void* new_event(int device, bool timed) = 0;
  virtual void delete_event(void* event) = 0;
  virtual void record_event(int device, void* event, void* stream) = 0;
  virtual void wait_event(int device, void* stream, void* event) = 0;  // the stream waits
  virtual bool event_done(void* event) = 0;
  virtual void synchronize_event(void* event) = 0;
  virtual double milliseconds(void* from, void* to) = 0;
  virtual void used_on(int device, void* p,
                       void* stream) = 0;  // memory that work on another stream reads: not reused before it

  // Kernels: `gradient` < 0 the op's, else that of its gradient for this input. Null: there is none.
  virtual const Kernel* kernel(const char* op, int gradient) = 0;
  // target = source, broadcast and converted, rounded once, both on the current device, through a workspace of as many bytes as
  // assign_room() says; -1 where the plug-in does not know a format.
  virtual int64_t assign_room(const Operand& target, const Operand& source) = 0;
  virtual void assign(const Array& target, const Array& source, const Round& round, void* workspace) = 0;
};

// A plug-in exports `dyadic_backend`; null: it does not know this version.
inline constexpr int kBackendVersion = 1;
using MakeBackend = Backend* (*)(int version);

Backend* find_backend() noexcept;            // the plug-in, loaded when first asked for; null where there is none
Backend* loaded_backend() noexcept;          // null where nobody has asked for it
Backend& backend();                          // an Error that says why there is none
extern constinit thread_local int t_device;  // cuda::current_device()

// Bytes from anywhere to anywhere; meta has none.
void copy_bytes(Device to, void* target, Device from, const void* source, int64_t bytes);

// While it lives, calls on meta are planned by the device's kernels, so that a dry run predicts what it needs there.
extern constinit thread_local Device t_meta_as;
struct MetaAs {
  const Device before = t_meta_as;
  explicit MetaAs(Device d) { t_meta_as = d; }
  ~MetaAs() { t_meta_as = before; }
  MetaAs(const MetaAs&) = delete;
};

}  // namespace dyadic::inline v1
