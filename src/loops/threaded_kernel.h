// Cheap arithmetic on f32, and on bf16 rounded after each call, without a pass over memory, or even over a tile, for each call:
// eight vectors of elements stay in registers and travel as arguments from one handler to the next, each of which does one
// thing to all eight and ends in a jump through the next step of the program. Handlers are compiled once; no code is made at
// run time.
#pragma once
#include <cstdint>

#include "base/parallel.h"

namespace dyadic::inline v1 {

// Each of them is one rounding, or none, on every machine.
enum class Arithmetic : uint8_t { neg, abs, sqrt, add, sub, mul, div, max, min };
inline constexpr int kUnary = 3, kBinary = 6;

// What a binary one computes of: the elements in registers, and those in memory or a number; or of the former twice.
enum class Against : uint8_t { memory, memory_first, number, number_first, itself };
inline constexpr int kAgainst = 5;

struct ThreadedStep {
  void (*run)();  // one of the kernel's handlers
  char* memory;
  int64_t moves;  // -1: `memory` is where the first element of all lies; 0: where that of each eight vectors does, in f32
  float number;
  bool* found_nan;  // of those that store
};

struct ThreadedKernel {
  int64_t block;  // elements in eight vectors
  void (*load)();
  void (*store)();
  void (*stream)();  // past the caches, to whole lines
  void (*load_bf16)();
  void (*store_bf16)();  // of what is rounded already
  void (*stream_bf16)();
  void (*round_bf16)();
  void (*unary[kUnary])();
  void (*binary[kBinary][kAgainst])();
  void (*binary_bf16[kBinary][2])();  // against memory that holds bf16
  void (*end)();
  // Elements [begin, end), whole blocks, up to the first block with a NaN among what is to be stored, which is left; where it
  // begins. Of two NaNs an operation gives one, and which, the compiler chooses anew in each function: the op's own tile is to
  // say. The last step is `end`; found_nan is that of the steps.
  int64_t (*run)(const ThreadedStep* program, int64_t begin, int64_t end, bool& found_nan);
};

}  // namespace dyadic::inline v1

DY_KERNEL(ThreadedKernel, threaded_kernel)
