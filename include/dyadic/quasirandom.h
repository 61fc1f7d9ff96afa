// Points that fill the unit cube evenly: Sobol's sequence, with the direction numbers of S. Joe and F. Y. Kuo (SIAM J. Sci.
// Comput. 30, 2635, 2008) for up to 1111 dimensions, in PyTorch's order: the origin first.
#pragma once
#include <optional>
#include <vector>

#include "dyadic/tensor.h"

namespace dyadic::inline v1::quasirandom {

class SobolEngine {
 public:
  static constexpr int64_t kMaxDim = 1111;
  static constexpr int kBits = 30;  // of a coordinate; so many points there are, as powers of 2

  // scramble: the direction numbers are multiplied by random triangular matrices and all points moved by a random one, bitwise
  // (J. Matousek, J. Complexity 14, 527, 1998), so that each point is uniform and together they are as even as before. They
  // come from the seed, or else from the default generator.
  explicit SobolEngine(int64_t dimension, bool scramble = false, std::optional<uint64_t> seed = {});

  Tensor draw(int64_t n = 1, DType dtype = {});    // [n, dimension], in [0, 1)
  Tensor draw_base2(int64_t m, DType dtype = {});  // 2^m of them; Error unless the points drawn are then a power of 2 in number
  SobolEngine& fast_forward(int64_t n);            // leaves n points out
  SobolEngine& reset();                            // begins anew, scrambled as before
  int64_t dimension() const { return dimension_; }
  int64_t num_generated() const { return generated_; }

 private:
  int64_t dimension_, generated_ = 0;
  std::vector<uint32_t> directions_, first_;  // [dimension][kBits], [dimension]
};

}  // namespace dyadic::inline v1::quasirandom
