#include "ops/fft/frames.h"

namespace dyadic::inline v1::ops {

Frames::Frames(const char* who, Args a)
    : size(a[stft_op::arg::n_fft]), hop(!a.has(stft_op::arg::hop_length) ? size / 4 : a[stft_op::arg::hop_length]) {
  const int64_t length = !a.has(stft_op::arg::win_length) ? size : a[stft_op::arg::win_length];
  DY_CHECK(size > 0 && hop > 0 && length > 0 && length <= size,
           "{}: expected 0 < win_length <= n_fft and 0 < hop_length: n_fft is {}, hop_length is {}, win_length is {}", who,
           size, hop, length);
  if (a.has(stft_op::arg::window)) {
    window = floating(a[stft_op::arg::window]);
    DY_CHECK(window.dim() == 1 && window.size(0) == length,
             "{}: the window has not win_length values: window is {}, win_length is {}", who, describe(window), length);
  } else if (length < size) {
    window = ones({length}, floating(a[stft_op::arg::self]).dtype().to_real(), a[stft_op::arg::self].device());
  }
  const int64_t before = (size - length) / 2;
  if (length < size) window = constant_pad_nd(window, {before, size - length - before});
}

}  // namespace dyadic::inline v1::ops
