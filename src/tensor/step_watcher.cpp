#include "tensor/step_watcher.h"

#include <algorithm>
#include <mutex>
#include <vector>

namespace dyadic::inline v1 {

constinit thread_local StepWatcher* t_step_watcher = nullptr;
constinit std::atomic<int> g_step_watchers{0};
constinit std::atomic<uint64_t> g_structure{0};

namespace {
std::mutex g_mutex;
std::vector<StepWatcher*>& watchers() {
  static auto* all = new std::vector<StepWatcher*>;
  return *all;
}
}  // namespace

StepWatcher::StepWatcher() {
  const std::lock_guard lock(g_mutex);
  watchers().push_back(this);
  g_step_watchers.fetch_add(1);
}
StepWatcher::~StepWatcher() {
  const std::lock_guard lock(g_mutex);
  std::erase(watchers(), this);
  g_step_watchers.fetch_sub(1);
}
void tell_died(const Storage& s) noexcept {
  const std::lock_guard lock(g_mutex);
  for (StepWatcher* w : watchers()) w->died(s);
}

}  // namespace dyadic::inline v1
