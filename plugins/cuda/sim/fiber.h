// A stack of its own for code that stops in its middle: fibers, switched by hand in ten instructions (swapcontext asks the
// kernel for the signal mask each time). Sanitizers are told of every switch.
#pragma once
#include <cstddef>

namespace dyadic::gpu::sim {

class Fiber {
 public:
  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;

  void reset(void (*body)());  // body never returns
  void resume();               // from outside of any fiber: runs it until it calls suspend()
  static void suspend();       // from within: back to resume()

 private:
  [[noreturn]] static void enter();
  void* top_ = nullptr;    // where it stands
  char* stack_ = nullptr;  // its lowest address
  void (*body_)() = nullptr;
  [[maybe_unused]] void* sanitizer_ = nullptr;
};

}  // namespace dyadic::gpu::sim
