#include "ops/conv/conv_shape.h"

namespace dyadic::inline v1::ops {

Tensor joined_channels(const Tensor& whole) { return whole.transpose(0, 1).flatten(1, 2); }
Tensor split_channels(const Tensor& joined, int64_t entries) {
  const int64_t channels = joined.size(1);
  std::vector<int64_t> sizes = joined.sizes().vec();
  sizes[1] = entries;
  sizes.insert(sizes.begin() + 2, entries ? channels / entries : 0);
  return joined.reshape(sizes).transpose(0, 1);
}
Tensor joined_filters(const Tensor& whole) { return whole.flatten(0, 1); }

}  // namespace dyadic::inline v1::ops
