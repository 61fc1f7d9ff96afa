// A device made of memory, queues and a clock. Work that is enqueued runs later: when the host waits for it, when something
// that the host waits for needs it, or at some moment in between, in an order that streams and events allow. One thread runs at
// a time. DYADIC_SIM_SEED decides what is left open, DYADIC_SIM_MEMORY (bytes) and DYADIC_SIM_DEVICES how much there is.
#include "plugins/cuda/runtime/driver.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/sim/block.h"
#include "plugins/cuda/sim/memory.h"
#include "plugins/cuda/sim/random.h"
#include "plugins/cuda/sim/symbols.h"

namespace dyadic::gpu {
namespace {

constexpr size_t kMostQueued = 256;  // works of one stream

struct Queue;
struct Mark {  // a recorded event
  Queue* on;
  bool done = false;
  double milliseconds = 0;
};
struct Work {
  std::function<void()> run;
  std::shared_ptr<Mark> after;  // not before this
};
struct Queue {
  int device;
  std::deque<Work> works;
};
struct Event {
  std::shared_ptr<Mark> mark;  // null: not recorded yet
};
struct SimulatedDevice {
  sim::Memory memory;
  Failure failure{};
  std::string error;  // of a launch, until somebody waits
  Queue* first = nullptr;
  explicit SimulatedDevice(int64_t bytes) : memory(bytes) {}
};

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoll(text, nullptr, 10) : otherwise;
}

struct World {
  std::mutex mutex;
  std::deque<SimulatedDevice> devices;
  std::vector<Queue*> queues;
  std::deque<Queue> all_queues;  // those of deleted streams too: marks name them
  sim::Random random{uint64_t(setting("DYADIC_SIM_SEED", 1))};

  World() {
    const int64_t n = std::clamp<int64_t>(setting("DYADIC_SIM_DEVICES", 1), 0, kMaxDevices);
    for (int64_t i = 0; i < n; ++i) {
      SimulatedDevice& d = devices.emplace_back(setting("DYADIC_SIM_MEMORY", int64_t{2} << 30));
      d.first = new_queue(int(i));
    }
  }
  Queue* new_queue(int device) { return queues.emplace_back(&all_queues.emplace_back(Queue{device, {}})); }

  void run_front(Queue& q) {
    const Work work = std::move(q.works.front());
    q.works.pop_front();
    if (work.run) work.run();
  }
  static bool may_run(const Queue& q) { return !q.works.empty() && !(q.works.front().after && !q.works.front().after->done); }
  void drain(Queue& q, const Mark* until = nullptr) {
    while (!q.works.empty() && !(until && until->done)) {
      if (!may_run(q)) drain(*q.works.front().after->on, q.works.front().after.get());
      run_front(q);
    }
  }
  void open(bool yes) {
    for (SimulatedDevice& d : devices) d.memory.open(yes);
  }
  void finish(Queue& q, const Mark* until = nullptr) {
    if (q.works.empty() || (until && until->done)) return;
    open(true);
    drain(q, until);
    open(false);
  }
  void enqueue(Queue& q, Work work) {
    q.works.push_back(std::move(work));
    if (q.works.size() > kMostQueued) return finish(q);
    if (random.below(8)) return;
    open(true);
    for (int n = random.below(12); n > 0; --n)
      if (Queue& any = *queues[size_t(random.below(int(queues.size())))]; may_run(any)) run_front(any);
    open(false);
  }
};
World& world() {
  static World* const one = new World;
  return *one;
}
using Lock = std::lock_guard<std::mutex>;
Queue& queue(void* stream) { return *static_cast<Queue*>(stream); }
Event& event(void* e) { return *static_cast<Event*>(e); }
SimulatedDevice& simulated(int device) { return world().devices[size_t(device)]; }

void raise(int device) {
  if (std::string& error = simulated(device).error; !error.empty()) throw Error(std::exchange(error, {}));
}

double now() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

namespace sim {

void enqueue(const Launch& launch, std::function<void()> thread) {
  World& w = world();
  const Lock lock(w.mutex);
  Queue& q = queue(current_stream());
  w.enqueue(q, {[&w, &q, launch, thread = std::move(thread), number = op_number(), seed = w.random.next()] {
                  std::string& error = w.devices[size_t(q.device)].error;
                  const std::string wrong = run_launch(launch, thread, seed);
                  if (wrong.empty() || !error.empty()) return;
                  error =
                      fmt::format("{}: kernel {} failed: {} blocks of {} threads: {}", name_of_call(number),
                                  symbols_of(launch.kernel).name, launch.blocks * launch.y * launch.z, launch.threads, wrong);
                },
                nullptr});
}

}  // namespace sim

namespace driver {

int count() { return int(world().devices.size()); }
std::string why_none() { return count() ? "" : "the simulator has 0 devices: DYADIC_SIM_DEVICES says so"; }
DeviceProperties properties(int device) {
  return {.name = "simulated device",
          .major = 9,
          .total_memory = simulated(device).memory.total(),
          .multiprocessors = 4,
          .l2_bytes = 1 << 20};
}
std::string versions() { return "simulator"; }
std::string architectures() { return ""; }
void use(int) {}

bool taken_side_by_side(int) { return true; }
void* take(int device, int64_t bytes) {
  const Lock lock(world().mutex);
  return simulated(device).memory.take(bytes);
}
void give(int device, void* segment, int64_t bytes) {
  const Lock lock(world().mutex);
  simulated(device).memory.give(segment, bytes);
}
char* find_place(int device, int64_t bytes) {
  const Lock lock(world().mutex);
  return simulated(device).memory.find_place(bytes);
}
void move(int device, void* segment, int64_t bytes, void* to) {
  const Lock lock(world().mutex);
  simulated(device).memory.move(segment, bytes, to);
}
void free_and_total(int device, int64_t* free, int64_t* total) {
  const Lock lock(world().mutex);
  *free = simulated(device).memory.free(), *total = simulated(device).memory.total();
}

void* first_stream(int device) { return simulated(device).first; }
void* new_stream(int device, int) {
  const Lock lock(world().mutex);
  return world().new_queue(device);
}
void delete_stream(int device, void* stream) {
  finish_stream(0, stream);
  const Lock lock(world().mutex);
  std::erase(world().queues, &queue(stream));
}
void finish_stream(int, void* stream) {
  const Lock lock(world().mutex);
  world().finish(queue(stream));
}
bool stream_done(int, void* stream) {
  const Lock lock(world().mutex);
  return queue(stream).works.empty();
}
void wait_stream(int device, void* stream) {
  const Lock lock(world().mutex);
  world().finish(queue(stream));
  raise(device);
}
void wait_device(int device) {
  const Lock lock(world().mutex);
  for (Queue* q : world().queues)
    if (q->device == device) world().finish(*q);
  raise(device);
}

void* new_event(int, bool) { return new Event; }
void delete_event(void* e) { delete &event(e); }
void record_event(int, void* e, void* stream) {
  const Lock lock(world().mutex);
  const auto mark = std::make_shared<Mark>(&queue(stream));
  event(e).mark = mark;
  world().enqueue(queue(stream), {[mark] { mark->done = true, mark->milliseconds = now(); }, nullptr});
}
void wait_event(int, void* stream, void* e) {
  const Lock lock(world().mutex);
  if (event(e).mark) world().enqueue(queue(stream), {nullptr, event(e).mark});
}
bool event_done(void* e) {
  const Lock lock(world().mutex);
  return !event(e).mark || event(e).mark->done;
}
void synchronize_event(void* e) {
  const Lock lock(world().mutex);
  if (event(e).mark) world().finish(*event(e).mark->on, event(e).mark.get());
}
double milliseconds(void* from, void* to) {
  synchronize_event(from);
  synchronize_event(to);
  return event(to).mark->milliseconds - event(from).mark->milliseconds;
}

void copy(int, void* target, const void* source, int64_t bytes, Way way, void* stream) {
  const Lock lock(world().mutex);
  if (way != Way::to_device)
    return world().enqueue(queue(stream), {[=] { std::memmove(target, source, size_t(bytes)); }, nullptr});
  const std::shared_ptr<char[]> held(new char[size_t(bytes)]);
  std::memcpy(held.get(), source, size_t(bytes));
  world().enqueue(queue(stream), {[=] { std::memcpy(target, held.get(), size_t(bytes)); }, nullptr});
}
void copy_between(int, void* target, int, const void* source, int64_t bytes, void* stream) {
  copy(0, target, source, bytes, Way::within, stream);
}

Failure* failures(int device) { return &simulated(device).failure; }

}  // namespace driver
}  // namespace dyadic::gpu
