// Discrete Fourier transforms of one line, in double precision whatever the tensor's: kissfft is scalar code, where double
// costs no more than float, and an f32 result is rounded once. Lengths whose prime factors are 2, 3 and 5 are kissfft's own;
// for the others its butterflies take time p^2 and share a buffer between threads, so they go by way of Bluestein's chirp: a
// convolution of a length that is a power of two.
#pragma once
#include <complex>
#include <cstdint>
#include <kissfft/kissfft.hh>
#include <memory>
#include <vector>

namespace dyadic::inline v1::ops {

using Line = std::complex<double>;

class FftPlan {
  int64_t n_, padded_ = 0;
  kissfft<double> transform_, back_;  // of n, or both of the padded length
  std::vector<Line> chirp_, filter_;

 public:
  FftPlan(int64_t n, bool inverse);
  int64_t scratch() const { return 2 * padded_; }  // elements
  // out = sum_j in_j exp(-+ 2 pi i j k / n), unscaled; in, out and scratch are apart. Any number of threads at once.
  void run(const Line* in, Line* out, Line* scratch) const;
};

// The plan of a length: made once, the last few hundred kept. Their tables (32 bytes per element or so) are no tensors, and the
// ledger does not count them.
std::shared_ptr<const FftPlan> fft_plan(int64_t n, bool inverse);
int64_t fft_scratch(int64_t n);  // without making a plan

}  // namespace dyadic::inline v1::ops
