// Mixed precision: matrix products in a low precision over f32 weights.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

// What calls of one op ran in, and why.
struct AutocastCalls {
  std::string op;
  DType ran;               // the dtype it computed in
  DType given, and_given;  // of the floating inputs; the second is undefined where all are of one
  int64_t calls = 0;
  int64_t casts = 0;   // inputs that were cast
  int64_t cached = 0;  // inputs whose cast was at hand
  const char* why = "";
};

// The scales of f8 training (Transformer Engine's delayed scaling): a linear layer's input and weight go to `forward`, the
// gradient of its result to `backward`, each by a scale of its own: the power of two that brings the largest absolute value of
// the last `history` steps nearest to the format's largest without passing it, times 2^-margin. A step ends where an outermost
// region is entered. What has no history yet is measured. Layers are known by their module's path.
class DelayedScaling {
 public:
  struct Options {
    DType forward = f8e4m3fn, backward = f8e5m2;
    int history = 16;
    int margin = 0;
    bool most_recent = false;  // the last value instead of the history's largest
  };
  explicit DelayedScaling(Options options);
  DelayedScaling();
  ~DelayedScaling();
  DelayedScaling(const DelayedScaling&) = delete;

  // "<layer>.input", ".weight", ".gradient": f32 [1 + history], the scale and the largest absolute values, the latest first.
  std::vector<std::pair<std::string, Tensor>> state_dict() const;
  void load_state_dict(const std::vector<std::pair<std::string, Tensor>>& state);
  const Options& options() const;

  struct State;  // amp/f8.h
  State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// While it lives, ops of this thread run by their records' policy: matmul, linear and attention in `dtype`; exp, log, softmax,
// losses ... in f32; others as their inputs promote; f64 is left alone. Weights are cast once per outermost scope, and again
// when they were written. Backward runs in the dtypes of forward, wherever it is called. `dtype` is bf16, f16 or f8e4m3fn: with
// that, linear layers multiply f8 numbers by the scales of `scaling` (none: this thread's), what else has a low precision is
// bf16.
class Autocast {
  DType before_;
  uint32_t modes_;
  bool cache_;
  DelayedScaling* scaling_;
  Autocast(DType dtype, bool enabled, bool cache, DelayedScaling* scaling, bool next_step);

 public:
  explicit Autocast(DType dtype = bf16, bool enabled = true, bool cache = true, DelayedScaling* scaling = nullptr);
  // A region that goes on with another one's step: what is computed again in backward.
  struct SameStep {};
  Autocast(SameStep, DType dtype, DelayedScaling* scaling);
  ~Autocast();
  Autocast(const Autocast&) = delete;
  static bool enabled();
  static DType dtype();  // of the scope that is entered last
  static DelayedScaling* scaling();

  // What this thread's calls under autocast ran in since the last clear, by op; regions where it was turned off included.
  static std::vector<AutocastCalls> report();
  static std::string report_text();  // as a table
  static void clear_report();

  // PyTorch's switches beside the scopes.
  static void set_enabled(bool on);
  static void set_dtype(DType dtype);
  static bool cache_enabled();
  static void set_cache_enabled(bool on);
  static void clear_cache();
};

}  // namespace dyadic::inline v1
