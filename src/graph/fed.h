// A pass of pointwise calls and the call that reads what it computes, band by band: each band goes to memory of its thread's,
// or to where others want it, and the parts of the call that read it run while it lies in the cache.
#pragma once
#include <memory>

#include "corridor/plan.h"
#include "loops/fused.h"

namespace dyadic::inline v1::graph {

inline constexpr int kMostFed = 4;        // inputs of one call
inline constexpr int kMostFedInputs = 8;  // that it has

// Elements: fewer stay in the caches anyway; bytes of a band, of all inputs that are fed. Tests feed all, in small bands.
extern int64_t g_least_fed, g_band;

class Feed {
  struct Input {
    int input, value;   // of the call, of the pass
    bool passes, over;  // it is in no memory but the band's; or where the result comes to lie
    int64_t itemsize;
  };
  int64_t numel_, call_workspace_;
  Parts parts_;
  Input inputs_[kMostFed];
  int count_ = 0;
  int64_t each_ = 0, scratch_ = 0;  // of a band: parts of the call, bytes of what passes
  bool run_bands(const FusedPlan& pass, const Plan& call, char** memory, const Pointers& at, char* room) const;

 public:
  // tight: without room of its own where the result's can be taken, which costs 5 to 10 %.
  Feed(const Plan& call, int64_t numel, bool tight) : numel_(numel), call_workspace_(call.workspace), parts_(call.parts) {
    if (!tight) parts_.over = 0;
  }
  // Input `input` of the call is value `value` of the pass. False: there are too many.
  bool add(int input, int value, bool passes, int64_t itemsize);
  bool plan();                // after all of them; false: it is not worth it, or cannot be
  int64_t workspace() const;  // bytes, beside the call's own
  // Whether with `kept` bytes that would be free by now all takes no more memory than one by one.
  bool saves(int64_t kept, int64_t results) const;
  // memory: where the pass's values lie, of those that pass nothing; room: of workspace() bytes.
  void run(const FusedPlan& pass, const Plan& call, char** memory, const Pointers& at, char* room) const;
  // One plan of both, which reads the pass's values, then the call's inputs. `inputs`: of the call.
  std::shared_ptr<const Plan> together(std::shared_ptr<const FusedPlan> pass, std::shared_ptr<const Plan> call) const;
};

}  // namespace dyadic::inline v1::graph
