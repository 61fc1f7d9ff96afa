// Programs for the threaded kernel: chains whose every step is cheap arithmetic on f32 or bf16.
#pragma once
#include <optional>
#include <vector>

#include "loops/threaded_kernel.h"

namespace dyadic::inline v1 {

struct FusedStep;
struct FusedValue;

// What a step computes of its inputs, if that is arithmetic alone: parts in order, of which the last is the result.
struct Expression {
  enum class Of : uint8_t { part, input, number };
  struct Term {
    Of of;
    int index;
  };
  struct Part {
    Arithmetic op;
    Term a, b;  // unary: a
  };
  std::vector<Part> parts;
  std::vector<float> numbers;
  int given = 0;  // of the numbers, by the call: the first ones; the others stand in the op
  // Whether of inputs that are bf16 the result is one too, so that nothing is rounded.
  bool keeps_bf16() const;
};

class ThreadedProgram {
 public:
  // None: it is not all arithmetic on f32 and bf16 whose operands are dense or numbers, or too much of it.
  static std::optional<ThreadedProgram> make(const std::vector<FusedValue>& values, const std::vector<FusedStep>& steps);
  static constexpr int kMostSteps = 200, kMostSpilled = 16;

  // The program with its memory; `spilled`: of kMostSpilled blocks. streamed[v]: value v goes past the caches.
  struct Ready {
    ThreadedStep steps[kMostSteps];
    alignas(64) char spilled[kMostSpilled * 512];
    bool found_nan;
  };
  // Whether a block can be computed once more from the inputs, when something of it has been stored.
  bool can_repeat(const std::vector<FusedValue>& values, const std::vector<FusedStep>& steps, char* const* memory) const;
  void place(Ready& ready, const std::vector<FusedValue>& values, char* const* memory, const bool* streamed) const;

 private:
  struct Step {
    enum class Is : uint8_t { load, store, round, unary, binary } is;
    Arithmetic op{};
    Against against = Against::memory;
    int value = -1, slot = -1, number = -1;  // where the operand is: a value (in memory, or one element), spilled, or a number
  };
  friend class ThreadedWriter;
  std::vector<Step> steps_;
  std::vector<float> numbers_;
};

}  // namespace dyadic::inline v1
