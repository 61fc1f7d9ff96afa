// Launches for tests of the simulator: run at once in an order that a seed chooses, or enqueued on streams of a small device.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "plugins/cuda/language.h"
#include "plugins/cuda/runtime/current.h"
#include "plugins/cuda/sim/block.h"

namespace dyadic::gpu {

// What went wrong, or nothing.
template <class... P, class... A> std::string run_now(uint64_t seed, void (*kernel)(P...), const Grid& g, A... args) {
  const std::tuple<P...> held{P(args)...};
  return sim::run_launch(
      {g.blocks, g.y, g.z, g.threads, g.shared, reinterpret_cast<const void*>(kernel)}, [&] { std::apply(kernel, held); },
      seed);
}

// Two devices of 1 GiB, whatever the environment says for others.
inline void open_devices() {
  static const bool opened = [] {
    const char* const names[] = {"DYADIC_SIM_MEMORY", "DYADIC_SIM_DEVICES"};
    const char* const values[] = {"1073741824", "2"};
    std::string before[2];
    for (int i = 0; i < 2; ++i) {
      if (const char* text = std::getenv(names[i])) before[i] = text;
      setenv(names[i], values[i], 1);
    }
    const bool two = driver::count() == 2;
    for (int i = 0; i < 2; ++i) before[i].empty() ? unsetenv(names[i]) : setenv(names[i], before[i].c_str(), 1);
    return two;
  }();
  ASSERT_TRUE(opened);
  enter_device(0);
  choose_stream(0, nullptr);
}

}  // namespace dyadic::gpu
