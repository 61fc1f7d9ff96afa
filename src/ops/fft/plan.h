// Discrete Fourier transforms in double precision whatever the tensor's: an f32 result is rounded once. Factors 2, 3, 4 and 5
// are butterflies; lengths with others go by way of Bluestein's chirp, a convolution of a length that is a power of two.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "formats/format.h"

namespace dyadic::inline v1 {

// What a transform of n numbers needs to know; forwards, exp(-2 pi i j k / n).
struct FftPlan {
  int64_t n = 0;
  std::vector<double> turns;   // exp(-2 pi i k / n), real and imaginary parts: n of them
  std::vector<int> radices;    // outermost first; empty for 1, and where the chirp is used
  std::vector<double> chirp;   // exp(-pi i k^2 / n)
  std::vector<double> filter;  // the transform of the conjugate chirp, of the padded length, divided by it
  std::shared_ptr<const FftPlan> padded;
  std::shared_ptr<const FftPlan> part, lanes;  // of n / FftKernel::lanes and of that many, where one line is cut into so many
};

// Transforms of lines: `count` of them, number i begins at element start[i] of either side.
struct FftLines {
  const FftPlan* plan;       // of the complex transform: of n, or of n / 2
  const double* half_turns;  // of n, where real numbers are transformed as n / 2 complex ones; else null
  int64_t n;                 // of the real or complex transform
  bool inverse, real_in, real_out;
  double scale;
  const Format *in_format, *out_format;  // f32, f64, c64, c128
  const void* in;
  void* out;
  int64_t in_stride, out_stride;  // elements
};
struct FftKernel {
  int64_t lanes;  // lines at a time; alone: each is cut instead, which asks for a plan with parts, its own or its padded one's
  int64_t (*workspace)(int64_t n, int64_t padded, bool alone);  // bytes, any alignment
  void (*run)(const FftLines& lines, bool alone, int64_t count, const int64_t* in_start, const int64_t* out_start,
              void* workspace);
};

namespace ops {

// The plan of a length: made once, the last few hundred kept. Their tables (32 bytes per element or so) are no tensors, and the
// ledger does not count them.
std::shared_ptr<const FftPlan> fft_plan(int64_t n);
int64_t fft_padded(int64_t n);             // 0: no chirp
bool fft_alone(int64_t n, int64_t lines);  // whether so few lines are better cut

}  // namespace ops
}  // namespace dyadic::inline v1

DY_KERNEL(FftKernel, fft_kernel)
