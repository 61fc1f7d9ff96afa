// What the simulator leaves to chance, by a seed: splitmix64 (Steele, Lea, Flood, 2014).
#pragma once
#include <cstdint>

namespace dyadic::gpu::sim {

struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int below(int n) { return int(next() % uint64_t(n)); }
};

}  // namespace dyadic::gpu::sim
