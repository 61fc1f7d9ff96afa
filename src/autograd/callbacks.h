// What runs once when a backward has ended.
#pragma once
#include <memory>

namespace dyadic::inline v1 {

// call(object), when the outermost backward of this thread that runs now has ended; not where it throws. Error outside of one.
void when_backward_ends(std::shared_ptr<void> object, void (*call)(void*));

// The engine's side: it lives while a backward runs, which says where that ends.
class BackwardRuns {
 public:
  BackwardRuns();
  ~BackwardRuns();
  BackwardRuns(const BackwardRuns&) = delete;
  void end() const;
};

}  // namespace dyadic::inline v1
