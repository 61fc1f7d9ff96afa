// Calls that are made again in backward, and what they give.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "corridor/tape_nodes.h"
#include "dyadic/generator.h"
#include "plan/stowed.h"

namespace dyadic::inline v1::planning {

class RepeatedCall;

// One result of such a call, or one that lies in a file; there when it is first asked for, and until nobody needs it.
class Repeated {
  std::shared_ptr<RepeatedCall> call_;
  std::unique_ptr<Stowed> stowed_;
  friend class RepeatedCall;
  Tensor value_;

 public:
  const Tensor& get();
  // Whether it stands for what t is a view of. One of a file is written when that is first asked.
  bool is_of(const Tensor& t, FunctionRef<std::shared_ptr<StowFile>()> file);
  DType dtype;
};

// A view's place in memory that is computed again.
struct Place {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
  explicit Place(const TensorImpl& t);
  Tensor in(const Tensor& whole) const;
};

// What a call has read: kept, or itself computed again.
struct Read {
  Saved kept;
  std::shared_ptr<Repeated> repeated;
  Place place;
};

class RepeatedCall {
 public:
  // `made(t)`: the result that t is a view of, if that is computed again too; null: t is kept.
  template <class F> RepeatedCall(const Call& c, F&& made);
  ~RepeatedCall();
  RepeatedCall(const RepeatedCall&) = delete;
  // Its results, in order; those it has none of are null.
  static std::vector<std::shared_ptr<Repeated>> results(const std::shared_ptr<RepeatedCall>& call, const Call& c);

 private:
  friend class Repeated;
  void take(const Call& c);
  void read(const Tensor& t, std::shared_ptr<Repeated> made);
  void run();
  void let_go();
  Op op_;
  uint32_t module_;
  GeneratorState random_;
  std::vector<Arg> args_;  // numbers alone; the rest lies here
  std::vector<Read> reads_;
  std::vector<int64_t> ints_;
  std::string text_;
  std::vector<std::weak_ptr<Repeated>> results_;
};

template <class F> RepeatedCall::RepeatedCall(const Call& c, F&& made) : op_(c.id) {
  take(c);
  for_each_tensor(c.args, c.nargs, [&](const Tensor& t, int) { read(t, made(t)); });
}

}  // namespace dyadic::inline v1::planning
