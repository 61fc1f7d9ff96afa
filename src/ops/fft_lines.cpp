// What the kernels' transforms are of: the lines of any strides, in groups of as many as there are lanes.
#include <algorithm>
#include <cmath>
#include <memory>

#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops {
namespace {

constexpr int64_t kPieces = 64, kMostLanes = 8;

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

bool staged(const Tensor& t) { return compute_dtype(t.dtype()) != t.dtype(); }  // f16 and the like
int64_t staged_bytes(const Tensor& t) {
  return staged(t) ? (t.numel() * compute_dtype(t.dtype()).itemsize() + 63) / 64 * 64 : 0;
}
// Which complex transform is taken: real numbers are the parts of half as many complex ones where their number is even.
struct Way {
  bool halves, alone;
  int64_t n, lines, group, groups, pieces, room;  // room: bytes of a piece
  Way(const Call& c, const FftShape& s)
      : halves((s.real_in || s.real_out) && s.n % 2 == 0),
        n(halves ? s.n / 2 : s.n),
        lines(c.spec[0].numel() / std::max<int64_t>(s.real_in ? s.n / 2 + 1 : s.n, 1)) {
    alone = fft_alone(n, lines);
    group = alone ? 1 : fft_kernel().lanes;
    groups = (lines + group - 1) / group;
    pieces = std::clamp<int64_t>(groups, 1, kPieces);
    room = (fft_kernel().workspace(s.n, fft_padded(n), alone) + 63) / 64 * 64;
  }
};

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
  const Way way(c, s);
  return way.pieces * way.room + staged_bytes(c.tensor(0));
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
  const int64_t d = wrap_dim(c.name, dim, in.ndim);
  const Lines from(in, d), to(out, d);
  const Way way(c, s);
  const auto plan = fft_plan(way.n), whole = way.halves ? fft_plan(s.n) : nullptr;
  const FftLines lines{plan.get(),
                       whole ? whole->turns.data() : nullptr,
                       s.n,
                       s.inverse,
                       s.real_in,
                       s.real_out,
                       s.scale,
                       in.dtype.format(),
                       out.dtype.format(),
                       in.data(),
                       out.data(),
                       in.strides[d],
                       out.strides[d]};
  parallel_each(way.pieces, [&](int64_t p) {
    int64_t in_start[kMostLanes], out_start[kMostLanes];
    for (int64_t g = way.groups * p / way.pieces; g < way.groups * (p + 1) / way.pieces; ++g) {
      const int64_t first = g * way.group, count = std::min(way.group, way.lines - first);
      for (int64_t i = 0; i < count; ++i) in_start[i] = from.start(first + i), out_start[i] = to.start(first + i);
      fft_kernel().run(lines, way.alone, count, in_start, out_start, room + p * way.room);
    }
  });
}

}  // namespace dyadic::inline v1::ops
