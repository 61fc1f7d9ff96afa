// How a kernel's call with batched tensors (tensor/batched.h) becomes one call of all entries. Pointwise ops and views need to
// say nothing, compositions are what their parts are, and an op that is told its dimensions (dim, dims, dim1 ...) has others
// before them. Beside its record another op says which of these holds for it:
//   kLeading      it works on the last dimensions, for each of those before
//   kFirst        its first dimension counts things that know nothing of each other: images, rows
//   kOwn(rule)    a rule of its own
// What says nothing, or finds that it cannot, is called once per entry.
#pragma once
#include "base/parallel.h"
#include "corridor/call.h"
#include "tensor/batched.h"

namespace dyadic::inline v1 {

class BatchedCall;

struct Batching {
  enum class How : uint8_t { leading, first, own };
  How how = How::own;
  uint16_t shared = 0;                     // in(i): arguments without those dimensions, the same for all: weights
  bool (*rule)(BatchedCall& b) = nullptr;  // false: not these arguments
};
constexpr Batching kLeading(uint16_t shared = 0) { return {Batching::How::leading, shared}; }
constexpr Batching kFirst(uint16_t shared = 0) { return {Batching::How::first, shared}; }
constexpr Batching kOwn(bool (*rule)(BatchedCall&)) { return {Batching::How::own, 0, rule}; }
const Batching* batching_of(Op op);  // null where its file says nothing

class BatchedCall {
 public:
  Call& c;
  const LevelPtr& level;
  const int64_t entries;
  Tensor results[kMaxOutputs];  // [entries, ...] of what the rules say of one

  BatchedCall(Call& c, const LevelPtr& level) : c(c), level(level), entries(level->size) {}

  bool is_batched(int arg) const;
  bool is_batched(AnyArg h) const { return is_batched(h.at); }
  Tensor whole(const Tensor& t) const { return entries_at(t, *level) ? whole_of(t) : repeated(t, entries); }
  Tensor whole(int arg) const { return whole(*c.args[arg].tensor); }
  Tensor whole(AnyArg h) const { return whole(h.at); }  // the argument, [entries, ...]
  Tensor given(AnyArg h) const { return given(h.at); }
  Tensor given(int arg) const;  // the same; one that is the same for all as it is
  Tensor aligned(AnyArg h, int64_t ndim) const { return aligned(h.at, ndim); }
  Tensor aligned(int arg, int64_t ndim) const;  // as given, with ndim dimensions behind the entries', new ones first

  // The same op on all entries at once. Each false: the arguments are not like that.
  bool by_dims();
  bool leading(uint16_t shared);
  bool first(uint16_t shared);
  // On tensors that fold() has made of [entries, ...], whose results unfold() brings back.
  bool folded(uint16_t shared, FunctionRef<Tensor(const Tensor& whole)> fold, FunctionRef<Tensor(const Tensor& made)> unfold);
  bool per_entry();  // always true
  void compute();    // by whichever of these the op's file says
  bool run(Arg* args, bool same_rank);

 private:
  template <class F> bool run_as(Arg* args, bool same_rank, F&& unfold);
};

extern constinit thread_local int64_t t_entry_calls;  // so far, of kernels once per entry

// Compositions, gradients and the calls of all entries: what is made there nobody else has seen.
extern constinit thread_local int t_inner;
struct Inner {
  Inner() { ++t_inner; }
  ~Inner() { --t_inner; }
  Inner(const Inner&) = delete;
};

bool is_batched(const Call& c);  // or draws numbers within a vmap
inline bool any_batched(const Arg* args, int n) {
  bool any = false;
  for_each_tensor(args, n, [&](const Tensor& t, int) { any |= entries_of(t) != nullptr; });
  return any;
}
void execute_batched(Call& c, bool allocate);
void check_draws(const BatchLevel& level);  // the error of a function that draws numbers where it must not

}  // namespace dyadic::inline v1
