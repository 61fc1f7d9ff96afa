// Random numbers of one's own: a seed and a count of draws, apart from those of manual_seed.
#pragma once
#include "dyadic/ops.h"

namespace dyadic::inline v1 {

class Generator {
  GeneratorState state_;

 public:
  explicit Generator(uint64_t seed = 0) : state_{seed, 0} {}
  explicit Generator(GeneratorState state) : state_(state) {}
  Generator& manual_seed(uint64_t seed) { return state_ = {seed, 0}, *this; }
  uint64_t initial_seed() const { return state_.seed; }
  GeneratorState state() const { return state_; }  // all that the next numbers depend on
  void set_state(GeneratorState state) { state_ = state; }
  GeneratorState draw() { return {state_.seed, state_.calls++}; }  // what one random op uses up
};

Generator& default_generator();  // what random ops draw from outside of a scope

// The random ops of this thread, and generator_state(), are those of `g` while the scope lives.
class GeneratorScope {
  Generator* before_;

 public:
  explicit GeneratorScope(Generator& g);
  ~GeneratorScope();
  GeneratorScope(const GeneratorScope&) = delete;
};

// libtorch's order: a size, then the generator.
inline Tensor rand(IntList size, Generator& generator, DType dtype = {}, Device device = cpu) {
  const GeneratorScope scope(generator);
  return rand(size, dtype, device);
}
inline Tensor randn(IntList size, Generator& generator, DType dtype = {}, Device device = cpu) {
  const GeneratorScope scope(generator);
  return randn(size, dtype, device);
}
inline Tensor randint(int64_t low, int64_t high, IntList size, Generator& generator, DType dtype = {}, Device device = cpu) {
  const GeneratorScope scope(generator);
  return randint(low, high, size, dtype, device);
}
inline Tensor randperm(int64_t n, Generator& generator, DType dtype = {}, Device device = cpu) {
  const GeneratorScope scope(generator);
  return randperm(n, dtype, device);
}

}  // namespace dyadic::inline v1
