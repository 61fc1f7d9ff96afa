// What a call will do, decided once: which kernel runs, with which parameters, in how much workspace. A plan holds no tensors
// and no pointers to them; run() checks nothing and allocates nothing, so that it can be repeated on other memory.
#pragma once
#include <memory>
#include <new>
#include <type_traits>

#include "corridor/handles.h"
#include "tensor/operand.h"

namespace dyadic::inline v1 {

struct Draw {  // of the random generator: element i of a random result is a function of (seed, stream, i) alone
  uint64_t seed = 0, stream = 0;
};

Draw next_draw();  // of the generator that this thread draws from

// Where a plan's tensors lie in one run: the call's tensors in order, lists flattened, null where there is none. As
// TensorImpl::data(): the first element, of blocked formats the storage.
struct Pointers {
  void* const* in = nullptr;
  void* const* out = nullptr;
  void* workspace = nullptr;
  Draw draw{};  // of random ops

  Array input(int i, const Operand& o) const { return {o, in[i]}; }
  Array input(TensorArg h, const Operand& o) const { return input(h.tensor, o); }
  Array output(int i, const Operand& o) const { return {o, out[i]}; }
};

// How a call may be computed in parts: rows of its results that do not depend on each other, or blocks of a sum. Part i reads
// elements [i * elements, (i + 1) * elements) of the inputs in `reads`, the last one what is left, and nothing else of them;
// its bits are the same whichever parts run with it.
struct Parts {
  int64_t count = 0, elements = 0;  // count 0: the call is computed whole
  int64_t workspace = 0;            // bytes, in the place of the plan's
  uint16_t reads = 0, over = 0;     // in(k); `over`: may lie where the first result does
  void (*run)(const void* parameters, const Pointers&, int64_t begin, int64_t end);
  bool (*finish)(const void* parameters, const Pointers&);  // when all have run; null: nothing is left to do
};

class Plan {
  static constexpr size_t kBytes = 4096;
  void (*run_)(const void* parameters, const Pointers&) = nullptr;
  std::unique_ptr<char[]> more_;  // of what parameters point to: lists of any length
  alignas(16) unsigned char parameters_[kBytes];

 public:
  int64_t workspace = 0;  // bytes
  bool draws = false;     // each run takes a draw of the generator
  Parts parts;

  Plan() {}  // parameters are written by set()
  // kRun(const P&, const Pointers&) is the kernel.
  template <auto kRun, class P> void set(const P& parameters) { make<kRun, P>() = parameters; }
  template <auto kRun, class P> P& make() {  // the same, filled in where they lie
    static_assert(std::is_trivially_copyable_v<P> && sizeof(P) <= kBytes && alignof(P) <= 16);
    run_ = [](const void* p, const Pointers& at) { kRun(*static_cast<const P*>(p), at); };
    return *new (parameters_) P;
  }
  // kRun(const P&, const Pointers&, begin, end) computes parts [begin, end), in any thread and order; kFinish(const P&, const
  // Pointers&), where there is one, what is made of all of them. False: only the whole call has the right bits.
  template <auto kRun, auto kFinish, class P>
  void in_parts(int64_t count, int64_t elements, uint16_t reads, uint16_t over = 0) {
    parts.count = count, parts.elements = elements, parts.reads = reads, parts.over = over;
    parts.run = [](const void* p, const Pointers& at, int64_t begin, int64_t end) {
      kRun(*static_cast<const P*>(p), at, begin, end);
    };
    parts.finish = nullptr;
    if constexpr (!std::is_null_pointer_v<decltype(kFinish)>)
      parts.finish = [](const void* p, const Pointers& at) { return kFinish(*static_cast<const P*>(p), at); };
  }
  // Memory that lives as long as the plan, for parameters that point to it; one list per plan.
  template <class T> T* list(size_t n) {
    static_assert(std::is_trivially_copyable_v<T>);
    more_ = std::make_unique<char[]>(n * sizeof(T));
    return reinterpret_cast<T*>(more_.get());
  }
  template <class P> P& parameters() { return *std::launder(reinterpret_cast<P*>(parameters_)); }  // that make() or set() gave
  bool runs() const { return run_; }
  void run(const Pointers& at) const { run_(parameters_, at); }
  void run_parts(const Pointers& at, int64_t begin, int64_t end) const { parts.run(parameters_, at, begin, end); }
  bool finish_parts(const Pointers& at) const { return !parts.finish || parts.finish(parameters_, at); }
};

}  // namespace dyadic::inline v1
