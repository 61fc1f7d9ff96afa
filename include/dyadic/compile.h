// Functions whose calls are remembered and run together: compile(f) is f, bit for bit, in fewer passes over memory.
#pragma once
#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

namespace graph {
class Recording;
struct StepEntry;
}  // namespace graph

struct CompileOptions {
  struct Named {
  } by_name = {};
  // "reduce-overhead": a step runs again without its program once two runs have made the same calls, and none has read a value
  // on the way; else the program always runs.
  std::string mode = "default";
  bool fullgraph = false;  // a value that is read on the way is an Error that names the call (in Python the line)
  bool check = false;      // of whole steps: the program runs as well, an Error where a call's bits differ
};

namespace detail {

std::shared_ptr<graph::Recording> make_recording(const CompileOptions& options);
std::string explain(const graph::Recording& recording);
std::string dot(const graph::Recording& recording);
bool replays_steps(const graph::Recording& recording);

// A run of a compiled function, in this thread. One inside of another is a part of it.
class CompiledRun {
  struct Whole;
  std::shared_ptr<graph::Recording> recording_;
  std::unique_ptr<Whole> whole_;
  bool open_ = false, replayed_ = false;
  bool replay(const graph::StepEntry& entry);

 public:
  // key: all that it was called with beside tensors; null: that cannot be compared, and the program runs.
  explicit CompiledRun(const std::shared_ptr<graph::Recording>& recording, std::span<const Tensor> arguments = {},
                       const std::string* key = nullptr);
  ~CompiledRun();  // after an exception: what could not be computed for want of memory is, when it is read
  CompiledRun(const CompiledRun&) = delete;
  bool replayed() const { return replayed_; }  // the step has run, without the program
  std::vector<Tensor>& results();              // of that
  // Computes what is still put off; OutOfMemoryError. `holders` hold each result, 0: it is not known.
  void finish(std::span<const Tensor> results = {}, int holders = 0);
};

// What a step is called with: tensors, and the rest as bytes. Others than these cannot be compared.
struct Arguments {
  std::vector<Tensor> tensors;
  std::string key;
  bool comparable = true;
  void add(const Tensor& t) { tensors.push_back(t); }
  void add(const std::vector<Tensor>& all) {
    add(all.size());
    tensors.insert(tensors.end(), all.begin(), all.end());
  }
  void add(const std::string& s) {
    add(s.size());
    key += s;
  }
  template <class T> void add(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      key.append(reinterpret_cast<const char*>(&value), sizeof value);
    else
      comparable = false;
  }
};

// What a step returns: nothing, a tensor, a list, or a tuple or pair of tensors.
template <class R> struct StepResults {
  static constexpr bool known = std::is_void_v<R>;
};
template <> struct StepResults<Tensor> {
  static constexpr bool known = true;
  static std::vector<Tensor> list(const Tensor& t) { return {t}; }
  static Tensor make(std::vector<Tensor>& all) { return std::move(all[0]); }
};
template <> struct StepResults<std::vector<Tensor>> {
  static constexpr bool known = true;
  static std::vector<Tensor> list(const std::vector<Tensor>& all) { return all; }
  static std::vector<Tensor> make(std::vector<Tensor>& all) { return std::move(all); }
};
template <class R>
  requires requires { std::tuple_size<R>::value; }
struct StepResults<R> {
  static constexpr bool known = []<size_t... I>(std::index_sequence<I...>) {
    return (std::same_as<std::tuple_element_t<I, R>, Tensor> && ...);
  }(std::make_index_sequence<std::tuple_size_v<R>>());
  static std::vector<Tensor> list(const R& r) {
    return std::apply([](const auto&... t) { return std::vector<Tensor>{t...}; }, r);
  }
  static R make(std::vector<Tensor>& all) {
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return R{std::move(all[I])...};
    }(std::make_index_sequence<std::tuple_size_v<R>>());
  }
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
// With mode "reduce-overhead" a step that has been the same twice runs again without the program (docs/compile.md says what is
// compared, and when the program runs again). What f reads beside tensors, modules and optimizers, a number or flag it has
// captured, must then be an argument: a lambda's captures cannot be seen.
//
// One thread runs it at a time; calls from others meanwhile are calls of f. A pointer that was taken from a tensor before the
// run must not be written through during it.
template <class F> class Compiled {
  F f_;
  std::shared_ptr<graph::Recording> recording_;
  bool whole_;

 public:
  explicit Compiled(F f, const CompileOptions& options = {})
      : f_(std::move(f)), recording_(detail::make_recording(options)), whole_(detail::replays_steps(*recording_)) {}

  template <class... A> std::invoke_result_t<F&, A...> operator()(A&&... arguments) {
    using R = std::invoke_result_t<F&, A...>;
    using Results = detail::StepResults<std::remove_cvref_t<R>>;
    detail::Arguments given;
    if (whole_) (given.add(arguments), ...);
    const bool comparable = whole_ && Results::known && given.comparable;
    detail::CompiledRun run(recording_, given.tensors, comparable ? &given.key : nullptr);
    if constexpr (std::is_void_v<R>) {
      if (run.replayed()) return;
      f_(std::forward<A>(arguments)...);
      run.finish();
    } else {
      if constexpr (Results::known && !std::is_reference_v<R>)
        if (run.replayed()) return Results::make(run.results());
      R result = f_(std::forward<A>(arguments)...);
      if constexpr (Results::known && !std::is_reference_v<R>)
        comparable ? run.finish(Results::list(result), 2) : run.finish();
      else
        run.finish();
      return result;
    }
  }
  // What was recorded, what runs in one pass and how often, and which calls ran as they came, with the reason; of whole steps
  // which ran again, and why others did not.
  std::string explain() const { return detail::explain(*recording_); }
  std::string dot() const { return detail::dot(*recording_); }  // what runs in one pass, as Graphviz draws it
};

template <class F> Compiled<std::decay_t<F>> compile(F&& f, const CompileOptions& options = {}) {
  return Compiled<std::decay_t<F>>(std::forward<F>(f), options);
}

}  // namespace dyadic::inline v1
