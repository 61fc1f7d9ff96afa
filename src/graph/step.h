// A step that is to run again without its program: the kernels that it ran, by places instead of pointers.
//
// What a step has to do with is, each a Slot:
//   state      memory that was there before and is there in each run: parameters, buffers, what a program keeps
//   argument   of the compiled function, read where this call's lies
//   gradient   a leaf's .grad as it is when the step begins
//   constant   what the program has written itself before a call reads it: a number, a small table. The same in each run
//   made       by a call. What leaves the step, a result or a leaf's .grad, is made anew in each run; the rest has places in an
//              arena
// Beside kernels it has: .grad becomes another tensor; parts that run as they are (steps of an optimizer, a schedule, a scaler,
// which may skip). So numbers that such a part reads, a rate, a count of steps, are read each time. Random numbers are drawn in
// the same order from the same generator.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "corridor/plan.h"
#include "corridor/tape.h"
#include "corridor/used_up.h"
#include "loops/fused.h"

namespace dyadic::inline v1::graph {

struct Place {
  int slot = -1;  // none
  int64_t offset = 0;
  bool operator==(const Place&) const = default;
};

struct Layout {  // of a tensor over a slot's memory
  Place place;   // of its first element
  DType dtype;
  int ndim = 0;
  int64_t offset = 0;  // elements
  int64_t sizes[kMaxDims], strides[kMaxDims];
  bool operator==(const Layout& o) const;
};

struct Slot {
  enum class Kind : uint8_t { state, argument, gradient, constant, made };
  Kind kind = Kind::made;
  int index = -1;                    // of the argument, of the leaf
  std::shared_ptr<Storage> storage;  // of a state
  void* data = nullptr;              // of a state
  int64_t bytes = 0, room = 0;       // of what is made; what was allocated for it
  uint32_t writes = 0;               // what calls, not parts, have added to its version
  Layout entry;                      // of a gradient, when the step begins
  std::string value;                 // of a constant
  int first = -1, last = -1;         // the instructions that have to do with it
  bool written = false, leaves = false;
  const char* maker = "";
};

struct Instruction {
  std::string name, key;      // key: op, numbers, dtypes and shapes; of a part, whose it is and what it was given
  std::string where;          // in the program, where that is known
  std::vector<Place> places;  // a kernel's inputs, then its outputs; a fused plan's values
  int inputs = 0;
  std::vector<int> writes;  // slots
  uint64_t draw = 0;        // of a run that is checked: which
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const FusedPlan> fused;
  bool number = false;  // it writes a number that is read each time
  // A part that runs as it is.
  std::function<void()> again;
  // A leaf's .grad becomes `gradient`, or none where it has no place.
  int leaf = -1;
  Layout gradient;
};

struct Leaf {
  Tensor tensor;
  bool had_gradient = false;  // when the step began
};

struct StepResult {
  Layout layout;
  Tensor same;        // it is this very tensor, one that was there before, or a view of its memory
  int argument = -1;  // or this argument, or a view of it
  bool is_view = false;
  bool has_history = false;
  UsedUp history;
};

struct SeenModule {
  void* module;
  bool training;
  std::vector<std::pair<const Tensor*, const TensorImpl*>> entries;  // parameters and buffers
};

struct ArgumentSeen {
  Layout layout;  // its place: none
  uint8_t flags = 0;
  const Storage* storage = nullptr;
  const char* data = nullptr;
  int64_t bytes = 0;  // from there to the last element
};

struct Step {
  std::string key;  // modes, numbers of the arguments
  std::vector<ArgumentSeen> arguments;
  std::vector<Slot> slots;
  std::vector<Instruction> instructions;
  std::vector<Leaf> leaves;
  std::vector<SeenModule> modules;
  std::vector<StepResult> results;
  uint64_t structure = 0;
  std::string refused;  // why it cannot run again; empty: it can
};

Layout layout_of(const TensorImpl& t);
// Where two runs differ, in words; empty: nowhere.
std::string difference(const Step& a, const Step& b);

}  // namespace dyadic::inline v1::graph
