// Who wants to see each call of this thread after its kernel, with what it read and what it made: recordings of a step (plan/).
#pragma once
#include "corridor/call.h"

namespace dyadic::inline v1 {

inline constexpr uint32_t kObserving = 512;  // a Mode: an Observer lives

// Sees the calls while it lives; the last one made is the first to end.
class Observer {
  Observer* const before_;
  const uint32_t modes_;

 public:
  Observer();
  virtual ~Observer();
  Observer(const Observer&) = delete;
  virtual void called(const Call& c) = 0;
  Observer* before() const { return before_; }
};
extern constinit thread_local Observer* t_observer;

}  // namespace dyadic::inline v1
