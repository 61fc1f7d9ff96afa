#include "dyadic/cuda.h"

#include <utility>

#include "base/check.h"
#include "device/backend.h"

namespace dyadic::inline v1::cuda {
namespace {

int number(int64_t index) { return int(Device(DeviceType::cuda, index).index()); }

}  // namespace

bool is_available() { return find_backend(); }
int64_t device_count() { return find_backend() ? std::min(find_backend()->count(), kMaxDevices) : 0; }
std::string why_unavailable() {
  try {
    backend();
    return "";
  } catch (const Error& e) { return e.what(); }
}

int64_t current_device() { return number(-1); }
void set_device(int64_t index) {
  DY_CHECK(index >= 0, "set_device: negative index: it is {}", index);
  t_device = number(index);
}
DeviceGuard::DeviceGuard(int64_t index) : before_(current_device()) { set_device(index); }
DeviceGuard::~DeviceGuard() { t_device = int(before_); }

Properties properties(int64_t index) {
  const DeviceProperties p = backend().properties(number(index));
  return {p.name, p.major, p.minor, p.total_memory, p.multiprocessors, p.l2_bytes};
}
std::string versions() { return backend().versions(); }
std::string architectures() { return backend().architectures(); }
void synchronize(int64_t index) { backend().synchronize(number(index)); }
int64_t memory_reserved(int64_t index) { return backend().reserved(number(index)); }
int64_t driver_allocations(int64_t index) { return backend().driver_allocations(number(index)); }
std::pair<int64_t, int64_t> mem_get_info(int64_t index) {
  std::pair<int64_t, int64_t> both;
  backend().free_and_total(number(index), &both.first, &both.second);
  return both;
}

struct Stream::Held {
  int device;
  void* handle;  // null: the device's first
  bool own;
  ~Held() {
    if (own) backend().delete_stream(device, handle);
  }
};
Stream::Stream(Device device, std::shared_ptr<Held> held) : held_(std::move(held)), device_(device) {}
Stream::Stream(int64_t index, int priority) : device_(DeviceType::cuda, index) {
  const int d = int(device_.index());
  held_ = std::make_shared<Held>(d, backend().new_stream(d, priority), true);
}
Stream Stream::of_default(int64_t index) {
  const Device d(DeviceType::cuda, index);
  return {d, std::make_shared<Held>(int(d.index()), nullptr, false)};
}

namespace {
// What StreamGuards have set, by device, so that the stream lives as long as it is somebody's.
thread_local std::shared_ptr<void> t_streams[kMaxDevices];
}  // namespace

Stream Stream::current(int64_t index) {
  const Device d(DeviceType::cuda, index);
  const auto& held = t_streams[d.index()];
  return held ? Stream{d, std::static_pointer_cast<Held>(held)} : of_default(d.index());
}
void* Stream::handle() const { return held_->handle; }
void Stream::synchronize() const { backend().wait_stream(held_->device, held_->handle); }
bool Stream::query() const { return backend().stream_done(held_->device, held_->handle); }
void Stream::wait_stream(const Stream& other) const {
  Event e;
  e.record(other);
  e.wait(*this);
}

StreamGuard::StreamGuard(const Stream& stream) : before_(Stream::current(stream.device().index())) {
  t_streams[stream.device().index()] = stream.held_;
  backend().set_stream(int(stream.device().index()), stream.handle());
}
StreamGuard::~StreamGuard() {
  t_streams[before_.device().index()] = before_.held_;
  backend().set_stream(int(before_.device().index()), before_.handle());
}

struct Event::Held {
  void* handle;
  explicit Held(void* h) : handle(h) {}
  ~Held() { backend().delete_event(handle); }
};
Event::Event(bool enable_timing) : timed_(enable_timing) {}
void Event::record(const Stream& stream) {
  const int device = int(stream.device().index());
  if (!held_) held_ = std::make_shared<Held>(backend().new_event(device, timed_));
  backend().record_event(device, held_->handle, stream.handle());
}
void Event::wait(const Stream& stream) const {
  if (held_) backend().wait_event(int(stream.device().index()), stream.handle(), held_->handle);
}
bool Event::query() const { return !held_ || backend().event_done(held_->handle); }
void Event::synchronize() const {
  if (held_) backend().synchronize_event(held_->handle);
}
double Event::elapsed_time(const Event& end) const {
  DY_CHECK(timed_ && end.timed_, "elapsed_time: an event has no time: make both with enable_timing=True");
  DY_CHECK(held_ && end.held_, "elapsed_time: an event has not been recorded");
  end.synchronize();
  return backend().milliseconds(held_->handle, end.held_->handle);
}

}  // namespace dyadic::inline v1::cuda
