#include "autograd/callbacks.h"

#include <utility>
#include <vector>

#include "base/check.h"

namespace dyadic::inline v1 {
namespace {

struct Waiting {
  std::shared_ptr<void> object;
  void (*call)(void*);
};
thread_local int t_depth = 0;
thread_local std::vector<Waiting> t_waiting;

}  // namespace

void when_backward_ends(std::shared_ptr<void> object, void (*call)(void*)) {
  DY_CHECK(t_depth > 0, "when_backward_ends: no backward runs");
  t_waiting.push_back({std::move(object), call});
}

BackwardRuns::BackwardRuns() { ++t_depth; }
BackwardRuns::~BackwardRuns() {
  if (--t_depth == 0) t_waiting.clear();
}
void BackwardRuns::end() const {
  if (t_depth > 1) return;
  for (const Waiting& w : std::exchange(t_waiting, {})) w.call(w.object.get());
}

}  // namespace dyadic::inline v1
