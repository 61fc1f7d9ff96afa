// Discrete Fourier transforms in the tensor's precision. Factors up to 13 are butterflies; lengths with others go by way of
// Bluestein's chirp, a convolution of a length that is a power of two, always in double: f32 results are then rounded once.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/parallel.h"

namespace dyadic::inline v1 {

// What a transform of n numbers needs to know; forwards. Numbers are pairs, real and imaginary parts.
template <class T> struct FftPlan {
  int64_t n = 0;
  std::vector<T> halves;      // exp(-pi i k / n) for k <= n / 2: turns of 2 n real numbers
  std::vector<int> radices;   // outermost first; empty for 1, and where the chirp is used
  std::vector<T> turns;       // one stage after the other: exp(-2 pi i q k / (p m)) for k = 1 ... m - 1, q = 1 ... p - 1
  std::vector<T> line_turns;  // Note [One line]: for each k, real and imaginary parts of exp(-2 pi i l k / n) for all lanes l
  std::vector<T> chirp;       // exp(-pi i k^2 / n)
  std::vector<T> filter;      // the transform of the conjugate chirp, of the padded length, divided by it
  std::shared_ptr<const FftPlan> padded;
  std::shared_ptr<const FftPlan> part, lanes;  // of n / lanes and of `lanes`, where one line can be cut into so many
};

// Transforms of lines: `count` of them, number i begins at element start[i] of either side.
template <class T> struct FftLines {
  const FftPlan<T>* plan;  // of the complex transform: of n, or of n / 2
  bool halves;             // n real numbers are transformed as n / 2 complex ones
  bool inverse, real_in, real_out;
  bool whole;   // real_in: all of the spectrum is wanted, not n / 2 + 1 numbers
  bool narrow;  // T is double, elements are floats
  int64_t n;    // of the real or complex transform
  T scale;
  const void* in;
  void* out;
  int64_t in_stride, out_stride;  // elements
};
template <class T> struct FftTable {
  int64_t lanes;  // lines at a time; alone: each is cut instead, which asks for a plan with parts, its own or its padded one's
  int64_t (*workspace)(int64_t n, int64_t padded, bool alone);  // bytes, any alignment
  void (*run)(const FftLines<T>& lines, bool alone, int64_t count, const int64_t* in_start, const int64_t* out_start,
              void* workspace);
};
struct FftKernel {
  FftTable<float> s;
  FftTable<double> d;
};

namespace ops {

// The plan of a length: made once, the last few hundred kept. Their tables (24 bytes per f32 element or so) are no tensors, and
// the ledger does not count them.
template <class T> std::shared_ptr<const FftPlan<T>> fft_plan(int64_t n);
template <class T> const FftTable<T>& fft_table();
int64_t fft_padded(int64_t n);  // 0: no chirp
// Whether lines of n complex numbers are better cut: so few, or so long, that lanes of whole ones would not fill or fit.
bool fft_alone(int64_t n, int64_t lines, int64_t lanes);

}  // namespace ops
}  // namespace dyadic::inline v1

DY_KERNEL(FftKernel, fft_kernel)
