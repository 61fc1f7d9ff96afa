// Functions whose calls are remembered and run together: compile(f) is f, bit for bit, in fewer passes over memory.
#pragma once
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace dyadic::inline v1 {

namespace graph {
class Recording;
}
namespace detail {

std::shared_ptr<graph::Recording> make_recording();
std::string explain(const graph::Recording& recording);

// A run of a compiled function, in this thread. One inside of another is a part of it.
class CompiledRun {
  bool open_;

 public:
  explicit CompiledRun(const std::shared_ptr<graph::Recording>& recording);
  ~CompiledRun();  // after an exception: what could not be computed for want of memory is, when it is read
  CompiledRun(const CompiledRun&) = delete;
  void finish();  // computes what is still put off; OutOfMemoryError
};

}  // namespace detail

// The program runs as always, with whatever branches, prints and reads of values there are: nothing of it is replaced. What it
// calls is compared with what it has called before. Pointwise calls are put off until a value of theirs is needed; all those
// before that point then run as one pass over memory, rounding where each of them does. Everything else, and what differs from
// all that was recorded, runs as it comes. So results, gradients and random numbers are those of f itself.
//
//   auto step = dy::compile([&](Tensor x, Tensor y) { ... loss.backward(); optimizer.step(); return loss; });
//   Tensor loss = step(x, y);
//
// One thread runs it at a time; calls from others meanwhile are calls of f. A pointer that was taken from a tensor before the
// run must not be written through during it.
template <class F> class Compiled {
  F f_;
  std::shared_ptr<graph::Recording> recording_ = detail::make_recording();

 public:
  explicit Compiled(F f) : f_(std::move(f)) {}

  template <class... A> std::invoke_result_t<F&, A...> operator()(A&&... arguments) {
    detail::CompiledRun run(recording_);
    if constexpr (std::is_void_v<std::invoke_result_t<F&, A...>>) {
      f_(std::forward<A>(arguments)...);
      run.finish();
    } else {
      std::invoke_result_t<F&, A...> result = f_(std::forward<A>(arguments)...);
      run.finish();
      return result;
    }
  }
  // What was recorded, what runs in one pass and how often, and which calls ran as they came, with the reason.
  std::string explain() const { return detail::explain(*recording_); }
};

template <class F> Compiled<std::decay_t<F>> compile(F&& f) { return Compiled<std::decay_t<F>>(std::forward<F>(f)); }

}  // namespace dyadic::inline v1
