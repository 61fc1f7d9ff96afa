// What a compiled function remembers: sequences of pointwise calls between two points where values were needed, as a tree, and
// for each end of such a sequence the program that computes what was still held there.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "corridor/call.h"
#include "graph/steps.h"
#include "loops/fused.h"

namespace dyadic::inline v1::graph {

inline constexpr int kMostCalls = kMostSteps;  // that are put off at once
inline constexpr int kMostOutside = 48;        // tensors that they read
inline constexpr int64_t kAlone = 8;           // runs
inline constexpr int kMostRecorded = 2048;     // calls of one function; beyond them it begins anew

// The calls that can be put off: pointwise ones, and conversions to another dtype. Their arguments are tensors, then numbers,
// then, of some, the dtype of the result.
struct Kind {
  bool deferrable = false, converts = false, asks_dtype = false, in_place = false;
  int tensors = 0, numbers = 0;
  Kind(Op id, const OpDef& op, bool in_place) : in_place(in_place) {
    converts = id == Op::to_;
    deferrable = converts || op.kind == OpKind::pointwise;
    tensors = converts ? 1 : op.pw.inputs;
    numbers = op.pw.params;
    asks_dtype = converts || op.pw.gives_dtype;
  }
};

// What a call reads: the result of call `source`, or from kMostCalls on a tensor from outside; -1: nothing.
struct Input {
  int source = -1;
  const TensorImpl* tensor = nullptr;
  uint32_t repeated = 0;  // bit d: dimension d repeats what is there once, by a stride of 0
  int64_t numel = 0;      // elements that are there
};

// The call that a program's results are fed to, and which of them pass on to it without being written.
struct End {
  std::string name;
  std::vector<int> sources;
  uint64_t passing = 0;
  bool operator==(const End&) const = default;
};

// A program and how it fared.
struct Program {
  uint64_t held = 0;  // bit k: the result of call k was
  End end;
  int calls = 0, outside = 0, passes = 0, eager_passes = 0;
  int64_t runs = 0, bytes = 0;  // bytes: of its results
  double seconds = 0;           // of its runs
  double flops = 0, moved = 0;  // of one: bytes read and written
  std::string text;
  std::vector<std::string> names;  // of the plan's steps
  std::shared_ptr<const FusedPlan> plan;
};

// Of what a call reads, the first call that gives the same.
inline int resolve(int source, const std::vector<int>& first) {
  return source >= 0 && source < kMostCalls ? first[size_t(source)] : source;
}

// One call, as far as its result depends on it.
struct Recorded {
  struct Operand {
    int source = -1, ndim = 0;
    const Format* format = nullptr;
    bool number = false;
    uint32_t repeated = 0;
    FusedValue::Lies lies = FusedValue::Lies::dense;
    int64_t repeat = 1, period = 1, numel = 0;
    int64_t sizes[kMaxDims];
  };
  Op op{};
  bool converts = false, in_place = false;
  int tensors = 0, numbers = 0;
  DType default_dtype, asked;
  Operand in[kMaxOperands];
  std::vector<Scalar> scalars;
  Elementwise what;
  std::shared_ptr<const Expression> expression;
  DType dtype;
  int ndim = 0;
  int64_t numel = 0, sizes[kMaxDims];
  // How often it came first and was computed with no other call; from kAlone on it runs as it comes, and is put off now and
  // then to see whether that still holds.
  int alone = 0;
  bool stays = false;   // its result has been wanted after it had been fed to a call
  std::vector<Op> fed;  // calls that come after it and can be fed

  bool runs_alone() { return alone >= kAlone && ++alone % 64 != 0; }
  bool feeds(Op op) const { return std::find(fed.begin(), fed.end(), op) != fed.end(); }
  // Whether it computes what the other call does; `first`: of each call, the first that gives the same.
  bool repeats(const Recorded& other, const std::vector<int>& first) const;

  std::vector<std::unique_ptr<Recorded>> next;
  std::vector<std::unique_ptr<Program>> programs;  // that end here
};

class Recording {
 public:
  Recorded root;
  std::atomic<bool> running{false};  // one run at a time; others meanwhile run eagerly
  int64_t runs = 0, matched = 0, recorded = 0, alone = 0, rested = 0;
  std::unique_ptr<Steps> steps = std::make_unique<Steps>();
  std::map<std::string, int64_t> eager;  // why calls were not put off

  // A run begins. False: none of the last ones put anything off, so this one need not try; each 64th does.
  bool begins(bool may_rest) {
    ++runs;
    before_ = matched + recorded;
    if (!may_rest || idle_ < kAlone || ++idle_ % 64 == 0) return true;
    return ++rested, false;
  }
  void ends() { idle_ = matched + recorded != before_ ? 0 : std::max(idle_, std::min(idle_ + 1, kAlone)); }
  // The call after `at` that is this one; null: there is none yet.
  Recorded* match(Recorded& at, const Invocation& v, const Kind& kind, const Input* in) const;
  // A new one. Null: it cannot be put off, a reason is counted; or it is of another size than those before it, and may be
  // the first of others.
  Recorded* record(Recorded& at, const Invocation& v, const Kind& kind, const Input* in, bool& other_size);
  Program& program(Recorded& last, std::span<Recorded* const> calls, int outside, uint64_t held, const End& end = {});
  void not_deferred(const char* op, const char* why) { ++eager[std::string(op) + ": " + why]; }
  bool full() const { return recorded_now_ >= kMostRecorded; }
  void clear();
  std::string explain() const;
  std::string dot() const;  // its programs as Graphviz draws them

 private:
  int recorded_now_ = 0;
  int64_t before_ = 0, idle_ = 0;  // calls that had been put off when the run began; runs without one, in a row
};

}  // namespace dyadic::inline v1::graph
