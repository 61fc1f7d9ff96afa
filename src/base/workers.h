// Threads that prepare work beside the caller's, in the order in which it was posted. Not for splitting a computation: that is
// parallel_for, which inside a worker runs on its one thread.
#pragma once
#include <functional>
#include <memory>

namespace dyadic::inline v1 {

class Workers {
 public:
  using Task = std::function<void(int worker)>;  // must not throw
  explicit Workers(int count, Task begin = {});  // begin: what each does first
  ~Workers();                                    // stop()
  Workers(const Workers&) = delete;
  int count() const { return count_; }
  void post(Task task);  // does nothing once stopped, nor in a child of fork
  // Drops the tasks that have not begun and waits for the others. A worker may call it: it does not wait for itself.
  void stop();
  bool stopped() const;
  static void stop_all();  // of the process: before what their tasks need goes away

 private:
  struct State;
  int count_;
  std::shared_ptr<State> state_;
};

}  // namespace dyadic::inline v1
