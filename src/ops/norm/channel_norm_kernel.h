// Normalization of images [batch, channels, inner] with statistics shared by channels: y = (x - mean) rstd weight + bias with
// weight and bias per channel, rstd = 1 / sqrt(variance + eps), variance over what shares it (biased).
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "loops/operand.h"

namespace dyadic::inline v1 {

// A class is what shares a mean: a channel throughout the batch (groups 0: batch norm), or one of so many groups of a sample's
// channels (group norm). It consists of segments, each `inner` neighbouring elements of one channel.
struct ChannelNormShape {
  int64_t batch = 0, channels = 0, inner = 0, groups = 0;
  int64_t classes() const { return groups ? batch * groups : channels; }
  int64_t segments() const { return groups ? channels / groups : batch; }
  int64_t count() const { return segments() * inner; }
  int64_t channel(int64_t k, int64_t j) const { return groups ? k % groups * segments() + j : k; }
  int64_t segment(int64_t k, int64_t j) const { return groups ? k * segments() + j : j * channels + k; }
};

// Formats are all f64, or any other floats, computed in f32 and rounded once. weight and bias [channels] may be null (1, 0).
// mean and rstd are [classes] of the compute type. Threads inside; all sums are in an order fixed by the shape. Workspaces are
// bytes, aligned to 64.
struct ChannelNormKernel {
  int64_t (*forward_workspace)(const ChannelNormShape& shape, Source x);
  void (*forward)(const ChannelNormShape& shape, Source x, Source weight, Source bias, double eps, Target y, void* mean,
                  void* rstd, void* workspace);
  // dx, dweight and dbias may be null.
  int64_t (*backward_workspace)(const ChannelNormShape& shape, Source x);
  void (*backward)(const ChannelNormShape& shape, Source dy, Source x, Source weight, const void* mean, const void* rstd,
                   Target dx, Target dweight, Target dbias, void* workspace);
};

}  // namespace dyadic::inline v1

DY_KERNEL(ChannelNormKernel, channel_norm_kernel)
