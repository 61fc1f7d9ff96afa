// Gradients that travel in fewer bits: how a flat tensor of several gradients is encoded, each by itself, and read again. What
// an encoding loses of a shard's gradient is added to the shard's next one (error feedback: Seide et al. 2014, Karimireddy et
// al. 2019); shards are the same on any number of ranks, and so are the bits.
#pragma once
#include <vector>

#include "distributed/call.h"

namespace dyadic::inline v1::distributed {

inline constexpr int64_t kAlign = 64;  // bytes, as memory of one's own begins

class Wire {
  struct Segment {
    int64_t at, numel;  // in the flat tensor
    int64_t byte;       // where its encoding begins
    DType dtype;
  };
  std::vector<Segment> segments_;
  std::vector<Range> slices_, bytes_;  // of each rank: elements, and bytes of its segments
  DType sums_;

 public:
  // `dtype`: a float, or a format with scales. Segments lie side by side, those of a rank's slice first of all that are behind
  // it; what the dtype's blocks do not fit, and `plain` ones, stay as they are.
  struct Part {
    int64_t numel = 0;
    bool plain = false;
  };
  Wire(DType dtype, const std::vector<Part>& parts, std::vector<Range> slices, DType sums);
  const std::vector<Range>& bytes() const { return bytes_; }

  // u8, of all segments. `rest`, times `scale`, is added before, and becomes what is lost (nothing where that is not finite).
  Tensor encode(const Tensor& flat, const Tensor& rest, double scale) const;
  void decode(int rank, const Tensor& bytes, const Tensor& slice) const;
};

// That gradients can travel in: TypeError else.
void check_wire(DType dtype);

}  // namespace dyadic::inline v1::distributed
