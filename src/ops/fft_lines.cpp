// The kernels' loop: lines of any stride are gathered into double precision, transformed and scattered, a line at a time.
#include <algorithm>
#include <cmath>

#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops {
namespace {

constexpr int64_t kPieces = 64;

struct Lines {  // of one dimension of a tensor
  const TensorImpl& t;
  int64_t dim, count = 1;
  Lines(const TensorImpl& t, int64_t dim) : t(t), dim(dim) {
    for (int64_t d = 0; d < t.ndim; ++d)
      if (d != dim) count *= t.sizes[d];
  }
  int64_t start(int64_t line) const {
    int64_t at = 0;
    for (int64_t d = t.ndim; d-- > 0;) {
      if (d == dim) continue;
      at += line % t.sizes[d] * t.strides[d];
      line /= t.sizes[d];
    }
    return at;
  }
};

template <class T> void gather(const void* data, int64_t at, int64_t stride, int64_t n, Line* to) {
  const T* from = static_cast<const T*>(data) + at;
  for (int64_t k = 0; k < n; ++k) to[k] = Line(from[k * stride]);
}
void gather_line(DType d, const void* data, int64_t at, int64_t stride, int64_t n, Line* to) {
  d == f32   ? gather<float>(data, at, stride, n, to)
  : d == f64 ? gather<double>(data, at, stride, n, to)
  : d == c64 ? gather<std::complex<float>>(data, at, stride, n, to)
             : gather<std::complex<double>>(data, at, stride, n, to);
}
template <class T> T element(Line v) {
  if constexpr (std::is_floating_point_v<T>)
    return T(v.real());
  else
    return T(v);
}
template <class T> void scatter(void* data, int64_t at, int64_t stride, int64_t n, const Line* from, double scale) {
  T* to = static_cast<T*>(data) + at;
  for (int64_t k = 0; k < n; ++k) to[k * stride] = element<T>(from[k] * scale);
}
void scatter_line(DType d, void* data, int64_t at, int64_t stride, int64_t n, const Line* from, double scale) {
  d == f32   ? scatter<float>(data, at, stride, n, from, scale)
  : d == f64 ? scatter<double>(data, at, stride, n, from, scale)
  : d == c64 ? scatter<std::complex<float>>(data, at, stride, n, from, scale)
             : scatter<std::complex<double>>(data, at, stride, n, from, scale);
}

// The half of a Hermitian spectrum becomes the whole; what would be imaginary in real places is dropped.
void complete(Line* half, int64_t n) {
  half[0] = half[0].real();
  if (n % 2 == 0) half[n / 2] = half[n / 2].real();
  for (int64_t k = n / 2 + 1; k < n; ++k) half[k] = std::conj(half[n - k]);
}

bool staged(const Tensor& t) { return compute_dtype(t.dtype()) != t.dtype(); }  // f16 and the like
int64_t staged_bytes(const Tensor& t) {
  return staged(t) ? (t.numel() * compute_dtype(t.dtype()).itemsize() + 63) / 64 * 64 : 0;
}
int64_t line_scratch(int64_t n) { return 2 * n + fft_scratch(n); }
int64_t pieces_of(const Call& c, const FftShape& s) {
  const int64_t lines = c.spec[0].numel() / std::max<int64_t>(s.real_in ? s.n / 2 + 1 : s.n, 1);
  return std::clamp<int64_t>(lines, 1, kPieces);
}

}  // namespace

void infer_fft(Call& c, const char* who, const FftShape& s, int64_t dim) {
  const Tensor& t = c.tensor(0);
  DY_CHECK_AS(TypeError, s.real_in ? t.dtype().is_floating_point() || t.dtype().is_scaled() : t.dtype().is_complex(),
              "{}: needs {} numbers: self is {}", who, s.real_in ? "real floating-point" : "complex", describe(t));
  DY_CHECK(t.dim() > 0, "{}: a 0-d tensor has no dimension to transform: self is {}", who, describe(t));
  const int64_t d = wrap_dim(who, dim, t.dim());
  DY_CHECK(s.n >= 1 && t.size(d) == (s.real_out ? s.n / 2 + 1 : s.n), "{}: the size does not fit: self is {}, n is {}", who,
           describe(t), s.n);
  Spec& o = c.spec[0];
  const DType type = compute_dtype(plain(t));
  o.dtype = s.real_out ? type.to_real() : type.to_complex();
  o.device = t.device();
  o.shape(t.sizes());
  o.sizes[d] = s.real_in ? s.n / 2 + 1 : s.n;
}
int64_t fft_workspace(const Call& c, const FftShape& s) {
  return pieces_of(c, s) * line_scratch(s.n) * int64_t(sizeof(Line)) + staged_bytes(c.tensor(0));
}
double fft_flops(const Call& c, const FftShape& s) {
  const double n = double(s.n), lines = double(c.spec[0].numel()) / (s.real_in ? double(s.n / 2 + 1) : n);
  return 5 * lines * n * std::max(std::log2(n), 1.0);
}

void run_fft(Call& c, const FftShape& s, int64_t dim) {
  if (c.out[0].numel() == 0) return;
  char* room = static_cast<char*>(c.workspace);
  Tensor source = c.tensor(0);
  if (staged(source)) {
    Tensor wide = make_over(room, source.sizes(), compute_dtype(source.dtype()));
    copy_elements(wide, source);
    room += staged_bytes(source);
    source = wide;
  }
  const TensorImpl &in = *source.impl(), &out = *c.out[0].impl();
  const int64_t d = wrap_dim(c.name, dim, in.ndim), pieces = pieces_of(c, s), scratch = line_scratch(s.n);
  const Lines from(in, d), to(out, d);
  const auto plan = fft_plan(s.n, s.inverse);
  parallel_each(pieces, [&](int64_t p) {
    Line *a = reinterpret_cast<Line*>(room) + p * scratch, *b = a + s.n, *more = b + s.n;
    for (int64_t i = from.count * p / pieces; i < from.count * (p + 1) / pieces; ++i) {
      gather_line(in.dtype, in.data(), from.start(i), in.strides[d], in.sizes[d], a);
      if (s.real_out) complete(a, s.n);
      plan->run(a, b, more);
      scatter_line(out.dtype, out.data(), to.start(i), out.strides[d], out.sizes[d], b, s.scale);
    }
  });
}

}  // namespace dyadic::inline v1::ops
