// Who writes down a step that is to run again without its program (graph/recorder.h). Calls are seen where their kernels run;
// from here it hears of what calls do not say: memory that is made and freed, values that leave for the program, gradients that
// are left, parts of the step that run again as they are.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "tensor/impl.h"

namespace dyadic::inline v1 {

class Call;
class Plan;
struct Pointers;

class StepWatcher {
 public:
  StepWatcher();  // is told of deaths from now on, whichever thread frees
  virtual ~StepWatcher();
  StepWatcher(const StepWatcher&) = delete;
  virtual void born(const Storage& s) = 0;
  virtual void died(const Storage& s) = 0;
  virtual void runs(const Call& c, const Pointers& at) = 0;  // its kernel is the next
  // What no op does: `plan`, of `key`, is about to write `out`.
  virtual void writes(const char* name, std::string key, std::unique_ptr<Plan> plan, const Tensor& out) = 0;
  // The step goes on only if `plan`, of `key`, has read these without an error.
  virtual void checks(const char* name, std::string key, std::shared_ptr<const Plan> plan, std::span<const Tensor> read) = 0;
  // `out`, an f32, becomes what `from` holds then; it lives until structure_changed().
  virtual void number(const char* name, const double* from, const Tensor& out) = 0;
  virtual void reads(const TensorImpl& t) = 0;       // the program gets values, or memory
  virtual void refuses(const std::string& why) = 0;  // the step does what cannot run again by itself
  virtual void leaf(TensorImpl& t) = 0;              // its .grad is about to change
  virtual void gave(TensorImpl& leaf) = 0;           // another tensor is its .grad now, or none
  virtual void module(void* m) = 0;                  // an nn::Module runs
  // A part that `again` runs another time; `key`: what it is and was given.
  virtual void begins(const char* name, std::string key, std::function<void()> again) = 0;
  virtual void ends() = 0;
};
extern constinit thread_local StepWatcher* t_step_watcher;  // of this thread's calls; null: nobody
extern constinit std::atomic<int> g_step_watchers;
void tell_died(const Storage& s) noexcept;  // to all of them

// Objects that recorded steps refer to have changed in a way that calls do not show (a tensor has another memory, a module
// another entry, a hook), or are gone: steps are compared with their program before they run without it again.
extern constinit std::atomic<uint64_t> g_structure;
inline void structure_changed() { g_structure.fetch_add(1, std::memory_order_relaxed); }

inline void note_read(const TensorImpl& t) {
  if (t_step_watcher) [[unlikely]]
    t_step_watcher->reads(t);
}
inline void note_refusal(const char* why) {
  if (t_step_watcher) [[unlikely]]
    t_step_watcher->refuses(why);
}

// A part of a step that reads numbers and keeps states of its own (an optimizer's step): what runs while it lives is not
// written down; `again` is called in its place. `of`: whose it is, and what it was given; who is gone has called
// structure_changed().
class StepPart {
  StepWatcher* watcher_ = t_step_watcher;

 public:
  template <class F, class... Of> StepPart(const char* name, F again, const Of&... of) {
    if (!watcher_) [[likely]]
      return;
    std::string key;
    (key.append(reinterpret_cast<const char*>(&of), sizeof of), ...);
    watcher_->begins(name, std::move(key), std::move(again));
    t_step_watcher = nullptr;
  }
  ~StepPart() {
    if (!watcher_) [[likely]]
      return;
    watcher_->ends();
    t_step_watcher = watcher_;
  }
  StepPart(const StepPart&) = delete;
};

}  // namespace dyadic::inline v1
