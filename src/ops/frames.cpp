#include "ops/fft/frames.h"

namespace dyadic::inline v1::ops {

Frames::Frames(const char* who, const Arg* a)
    : size(a[1].integer), hop(a[2].kind == Arg::Kind::none ? size / 4 : a[2].integer) {
  const int64_t length = a[3].kind == Arg::Kind::none ? size : a[3].integer;
  DY_CHECK(size > 0 && hop > 0 && length > 0 && length <= size,
           "{}: expected 0 < win_length <= n_fft and 0 < hop_length: n_fft is {}, hop_length is {}, win_length is {}", who,
           size, hop, length);
  if (a[4].kind == Arg::Kind::tensor) {
    window = floating(*a[4].tensor);
    DY_CHECK(window.dim() == 1 && window.size(0) == length,
             "{}: the window has not win_length values: window is {}, win_length is {}", who, describe(window), length);
  } else if (length < size) {
    window = ones({length}, floating(*a[0].tensor).dtype().to_real(), a[0].tensor->device());
  }
  const int64_t before = (size - length) / 2;
  if (length < size) window = constant_pad_nd(window, {before, size - length - before});
}

}  // namespace dyadic::inline v1::ops
