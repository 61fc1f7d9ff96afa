// Running a launch: its blocks one after the other, the threads of a block as fibers. Note [Simulated blocks] in language.h.
#pragma once
#include <functional>
#include <string>

#include "plugins/cuda/sim/language.h"

namespace dyadic::gpu::sim {

// Empty, or what went wrong: threads that wait for others that never come, a shuffle whose mask lacks its caller. The rest of
// the launch is then left out. `seed` decides the orders of blocks and threads and what shared memory holds at first.
std::string run_launch(const Launch& launch, const std::function<void()>& thread, uint64_t seed);

}  // namespace dyadic::gpu::sim
