#include "base/workers.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/job.h"

namespace dyadic::inline v1 {

struct Workers::State {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Task> tasks;
  bool stop = false;
  std::vector<std::thread> threads;
  const pid_t owner = getpid();

  // A child of fork has none of the threads, and perhaps a mutex that one of them held.
  bool forked() const { return getpid() != owner; }
  void work(int worker, const Task& begin) {
    thread_state() = {0, true};
    omp_set_num_threads(1);
    if (begin) begin(worker);
    for (;;) {
      Task task;
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return stop || !tasks.empty(); });
        if (stop) return;
        task = std::move(tasks.front());
        tasks.pop_front();
      }
      task(worker);
    }
  }
  void end() {
    std::vector<std::thread> joined;
    std::deque<Task> dropped;
    if (forked()) {
      new std::vector(std::move(threads));  // never to be joined
      return;
    }
    {
      std::lock_guard lock(mutex);
      stop = true;
      joined.swap(threads);
      dropped.swap(tasks);
    }
    wake.notify_all();
    for (std::thread& t : joined) t.get_id() == std::this_thread::get_id() ? t.detach() : t.join();
  }
};

namespace {
// Never destroyed: workers may end after the last static.
auto& living_mutex = *new std::mutex;
auto& living = *new std::vector<Workers*>;
}  // namespace

Workers::Workers(int count, Task begin) : count_(count), state_(std::make_shared<State>()) {
  {
    std::lock_guard lock(living_mutex);
    living.push_back(this);
  }
  try {
    for (int i = 0; i < count; ++i) state_->threads.emplace_back([state = state_, begin, i] { state->work(i, begin); });
  } catch (const std::system_error& e) {
    const size_t started = state_->threads.size();
    stop();
    std::lock_guard lock(living_mutex);
    std::erase(living, this);
    fail("workers: the system starts no more threads: {} of {} run: {}", started, count, e.what());
  }
}
Workers::~Workers() {
  stop();
  std::lock_guard lock(living_mutex);
  std::erase(living, this);
}
void Workers::post(Task task) {
  if (state_->forked()) return;
  {
    std::lock_guard lock(state_->mutex);
    if (state_->stop) return;
    state_->tasks.push_back(std::move(task));
  }
  state_->wake.notify_one();
}
void Workers::stop() { state_->end(); }
bool Workers::stopped() const {
  if (state_->forked()) return true;
  std::lock_guard lock(state_->mutex);
  return state_->stop;
}
void Workers::stop_all() {
  std::vector<std::shared_ptr<State>> states;
  {
    std::lock_guard lock(living_mutex);
    for (Workers* w : living) states.push_back(w->state_);
  }
  for (auto& s : states) s->end();
}

}  // namespace dyadic::inline v1
