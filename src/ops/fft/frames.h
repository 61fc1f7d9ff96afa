// What stft and istft share: frames of n_fft values, hop_length apart, and the window over each.
#pragma once
#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops {

struct Frames {
  int64_t size, hop;
  Tensor window;  // [n_fft], zeros around a shorter one; undefined: ones

  // (self, n_fft, hop_length, win_length, window, ...)
  Frames(const char* who, Args a);
};

}  // namespace dyadic::inline v1::ops
