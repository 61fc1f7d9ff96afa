// Chains of pointwise calls in one pass over memory: a tile of elements goes through all of them while it lies in the
// first-level cache. Each step is the very tile that the op runs alone, and what lies between two steps is rounded to the dtype
// that it has, so that every bit is that of the calls one by one. (One tile of 4 KB against whole vectors: 3 to 5 times at a
// million elements, docs/compile.md.)
#pragma once
#include <memory>
#include <vector>

#include "loops/pointwise.h"
#include "loops/threaded.h"

namespace dyadic::inline v1 {

inline constexpr int kMostSteps = 32, kMostValues = 128;

struct FusedValue {
  enum class Lies : uint8_t {
    dense,   // `numel` elements in the order of the result
    single,  // one element throughout
    spread,  // element i stands at (i / repeat) % period
    tile,    // computed, read by steps alone: never in memory
  };
  const Format* format = nullptr;  // null: no step has to do with it
  Lies lies = Lies::dense;
  int64_t repeat = 1, period = 1;
  bool read_later = false;  // of computed ones in memory: by a step
};

struct FusedStep {
  bool converts = false;  // the input to the dtype of the result; else:
  Elementwise what;
  std::shared_ptr<const Expression> expression;  // the same; null: it is more than arithmetic
  int inputs = 0;
  int in[kMaxOperands];  // values; -1: what the tile does not read
  int out = 0;           // a value
};

class FusedPlan {
 public:
  // Values are read before they are computed by no step; those that are computed are dense or `tile`.
  FusedPlan(int64_t numel, std::vector<FusedValue> values, std::vector<FusedStep> steps);
  // memory[i]: where value i lies; of those in tiles it is not read. Computed values overlap no others.
  void run(char* const* memory) const;
  // The same in parts: numbers laid out, for the length of a run.
  class Ready {
    friend class FusedPlan;
    alignas(64) char few_[4096];
    std::unique_ptr<char[]> many_;
    char* constants_ = few_;
    bool threaded_;

   public:
    Ready(const FusedPlan& plan, char* const* memory);
  };
  // Elements [begin, end) in this thread; `cached`: what is computed stays in the caches, however much it is.
  void run_part(const Ready& ready, char* const* memory, int64_t begin, int64_t end, bool cached) const;

  const std::vector<FusedValue>& values() const { return values_; }
  const std::vector<FusedStep>& steps() const { return steps_; }
  int64_t numel() const { return numel_; }
  int tiles() const { return tiles_; }
  bool threaded() const { return threaded_.has_value(); }

 private:
  struct Way {           // how a step's tile reads and writes
    const Format* lies;  // as it is stored; null: in the compute type
    Tile tile;
    Compute leaves;
    bool direct, takes_one, streams;
    int64_t step;
    int64_t constant[kMaxOperands];  // where a single element stands among the constants
  };
  class Worker;
  void plan_step(const FusedStep& s);
  void plan_tiles();
  void fill_constants(char* constants, char* const* memory) const;
  bool streamed(int value, const char* at, bool cached) const;
  int64_t run_threaded(char* const* memory, const char* constants, int64_t begin, int64_t end, bool cached) const;
  void run_tiles(char* const* memory, const char* constants, int64_t begin, int64_t end, bool cached) const;

  int64_t numel_, each_;  // elements of a tile
  std::vector<FusedValue> values_;
  std::vector<FusedStep> steps_;
  std::vector<Way> ways_;
  std::vector<int> buffer_;  // of a value, where its tile lies; -1: in memory
  int tiles_ = 0;
  int64_t constant_bytes_ = 0;
  std::optional<ThreadedProgram> threaded_;  // what whole blocks go through instead
};

}  // namespace dyadic::inline v1
