#include "data/work.h"

#include <algorithm>

#include "base/random.h"
#include "dyadic/device.h"

namespace dyadic::inline v1::data {
namespace {

constinit thread_local const WorkerInfo* t_worker = nullptr;
constinit thread_local const std::atomic<bool>* t_stop = nullptr;

template <class T> class Set {  // a thread's variable, while it lives
  T &where_, before_;

 public:
  Set(T& where, T value) : where_(where), before_(std::exchange(where, value)) {}
  ~Set() { where_ = before_; }
  Set(const Set&) = delete;
};

}  // namespace

const WorkerInfo* get_worker_info() { return t_worker; }
bool stopping() { return t_stop && t_stop->load(std::memory_order_relaxed); }

void Slot::finish() {
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  ready.notify_all();
}

uint64_t Work::seed() const { return seed(-1) >> 1; }
uint64_t Work::seed(int64_t number) const {
  const PhiloxBlock b = philox(uint64_t(number), draw.calls, draw.seed);
  return uint64_t(b[1]) << 32 | b[0];
}

// The stream's next samples; called in the order of the numbers.
std::vector<Value> Work::read_some(int64_t number) {
  Generator random(seed(number));
  GeneratorScope scope(random);
  std::vector<Value> samples;
  if (ended_) return samples;
  ended_ = true;  // a stream that throws has no more
  if (!stream_) stream_ = iterable->iter();
  for (Value v; int64_t(samples.size()) < batch_size.value_or(1) && !stop;) {
    if (!stream_->next(v)) return samples;
    samples.push_back(std::move(v));
  }
  ended_ = false;
  return samples;
}

std::optional<std::vector<Value>> Work::read_in_turn(int64_t number) {
  std::unique_lock lock(mutex_);
  turned_.wait(lock, [&] { return std::max(turn_, first) == number || stop; });
  if (stop) return {};
  struct Turn {  // passed on whatever happens
    Work& w;
    int64_t next;
    ~Turn() { w.turn_ = next, w.turned_.notify_all(); }
  } pass{*this, number + 1};
  const WorkerInfo one{0, 1, seed(), dataset};
  Set as_one(t_worker, t_worker ? &one : nullptr);
  if (number == first)
    for (int64_t k = 0; k < first; ++k) read_some(k);
  std::vector<Value> samples = read_some(number);
  if (samples.empty() || (drop_last && int64_t(samples.size()) < batch_size.value_or(1))) return {};
  return samples;
}

void Work::make(int64_t number, const std::vector<int64_t>& indices, Slot& slot) {
  try {
    CategoryScope category(Category::data);
    std::optional<std::vector<Value>> samples;
    if (iterable) samples = read_in_turn(number);
    Generator random(seed(number));
    GeneratorScope scope(random);
    if (!iterable && !stop) samples = dataset->get_batch(indices);
    if (samples && !stop)
      slot.value = collate(std::move(*samples));
    else
      slot.end = true;
  } catch (...) { slot.error = std::current_exception(); }
  slot.finish();
}

void Work::begin_worker(int worker) const {
  if (!init || (iterable && worker > 0)) return;
  const WorkerInfo info{worker, iterable ? 1 : num_workers, seed() + uint64_t(worker), dataset};
  Set as_worker(t_worker, &info);
  init(worker);
}

void Work::make_in_worker(int worker, int64_t number, const std::vector<int64_t>& indices, Slot& slot) {
  const WorkerInfo info{worker, num_workers, seed() + uint64_t(worker), dataset};
  Set as_worker(t_worker, &info);
  Set until(t_stop, static_cast<const std::atomic<bool>*>(&stop));
  make(number, indices, slot);
}

void Work::cancel() {
  stop = true;
  { std::lock_guard lock(mutex_); }
  turned_.notify_all();
}

}  // namespace dyadic::inline v1::data
