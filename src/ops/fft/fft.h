// What the Fourier transforms share. Three kernels transform one dimension: complex to complex, real to the half of a Hermitian
// spectrum, and back; everything else is composed of them.
#pragma once
#include "loops/pointwise.h"
#include "ops/common.h"
#include "ops/fft/plan.h"

namespace dyadic::inline v1::ops {

// A transform along one dimension of length n. real_in, real_out: that side is real; the other then has n / 2 + 1 elements, or
// all n of them (whole).
struct FftShape {
  bool inverse, real_in, real_out;
  int64_t n;
  double scale;
  bool whole = false;
  int64_t out_size() const { return real_in && !whole ? n / 2 + 1 : n; }
};
void infer_fft(Call& c, const char* who, const FftShape& s, int64_t dim);
void plan_fft(Call& c, const FftShape& s, int64_t dim);
double fft_flops(const Call& c, const FftShape& s);

// Compositions. `norm`: none, "backward", "forward" or "ortho".
enum class Direction : bool { forward, inverse };
double fft_scale(const char* who, const Arg& norm, double n, Direction direction);
void check_numbers(const char* who, const Tensor& t, bool real_only);
Tensor resized(const char* who, const Tensor& t, int64_t dim, int64_t n);  // cut, or padded with zeros
Tensor floating(const Tensor& t);                                          // integers: the default float; f16 and the like: f32
Tensor to_complex(const Tensor& t);                                        // f16 and the like: c64
Tensor transform(const char* who, const Tensor& t, const Arg& n, int64_t dim, const Arg& norm, Direction direction);
Tensor transform_real(const char* who, const Tensor& t, const Arg& n, int64_t dim, const Arg& norm, Direction direction);
Tensor transform_half(const char* who, const Tensor& t, const Arg& n, int64_t dim, const Arg& norm, Direction direction);

// Of several dimensions: (self, s, dim, norm).
struct FftAxes {
  std::vector<int64_t> dims, sizes;
  // half: the last size is that of the real side, 2 (m - 1) if not given.
  FftAxes(const char* who, const Tensor& t, const Arg& s, const Arg& dim, bool half);
};
Tensor transform_all(const char* who, Args a, Direction direction);
Tensor transform_all_real(const char* who, Args a, Direction direction);
Tensor transform_all_half(const char* who, Args a, Direction direction);
std::vector<int64_t> shift_dims(const char* who, const Tensor& t, const Arg& dim);

}  // namespace dyadic::inline v1::ops
