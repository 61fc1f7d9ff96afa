// vmap: a function of one entry as a function of many, computed at once (Note [Batched tensors] in the sources).
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "dyadic/autograd.h"

namespace dyadic::inline v1 {

struct BatchLevel;

// What becomes of random numbers that the function draws.
enum class Randomness : uint8_t { error, different, same };

// The entries of one vmap while its function runs, of this thread; the last one made is the first to end.
class Entries {
  std::shared_ptr<BatchLevel> level_;

 public:
  explicit Entries(int64_t count, Randomness randomness = Randomness::error);
  ~Entries() { end(); }
  Entries(const Entries&) = delete;
  // One entry, which stands for all: dimension `dim` of x is that of the entries.
  Tensor enter(const Tensor& x, int64_t dim = 0) const;
  // All entries of t, along dimension `dim`: what is the same for all is expanded.
  Tensor leave(const Tensor& t, int64_t dim = 0) const;
  bool holds(const Tensor& t) const;  // whether t differs between them
  void end();
};

// f of each entry of the inputs along in_dims (0 where it is shorter; kShared: the same for all), the results joined along
// out_dims.
inline constexpr int64_t kShared = -1000;
std::vector<Tensor> vmap(TensorFunction f, std::span<const Tensor> inputs, IntList in_dims = {}, IntList out_dims = {},
                         Randomness randomness = Randomness::error);

}  // namespace dyadic::inline v1
