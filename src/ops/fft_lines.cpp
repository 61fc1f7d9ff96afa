// What the kernels' transforms are of: the lines of any strides, in groups of as many as there are lanes.
#include <algorithm>
#include <cmath>
#include <memory>

#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops {
namespace {

constexpr int64_t kPieces = 64, kMostLanes = 16;

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
  // Those of `n` lines from `first` on; neighbours in the last other dimension without a division.
  void starts(int64_t first, int64_t n, int64_t* to) const {
    const int64_t last = dim == t.ndim - 1 ? t.ndim - 2 : t.ndim - 1, size = last < 0 ? 1 : t.sizes[last];
    for (int64_t i = 0; i < n;) {
      int64_t at = start(first + i);
      for (int64_t left = size - (first + i) % size; left > 0 && i < n; --left, ++i)
        to[i] = at, at += last < 0 ? 0 : t.strides[last];
    }
  }
};

bool staged(const Tensor& t) { return compute_dtype(t.dtype()) != t.dtype(); }  // f16 and the like
int64_t staged_bytes(const Tensor& t) {
  return staged(t) ? (t.numel() * compute_dtype(t.dtype()).itemsize() + 63) / 64 * 64 : 0;
}
// Which complex transform is taken: real numbers are the parts of half as many complex ones where their number is even. In
// double: what is double, and what needs a chirp.
struct Way {
  bool halves, narrow, wide, alone;
  int64_t n, lines, group, groups, pieces, room;  // room: bytes of a thread
  Way(const Call& c, const FftShape& s)
      : halves((s.real_in || s.real_out) && s.n % 2 == 0),
        narrow(c.spec[0].dtype == f32 || c.spec[0].dtype == c64),
        n(halves ? s.n / 2 : s.n),
        lines(c.spec[0].numel() / std::max<int64_t>(s.out_size(), 1)) {
    const int64_t padded = fft_padded(n);
    wide = !narrow || padded > 0;
    wide ? lay_out(s, padded, fft_table<double>()) : lay_out(s, padded, fft_table<float>());
  }
  template <class T> void lay_out(const FftShape& s, int64_t padded, const FftTable<T>& table) {
    alone = fft_alone(n, lines, table.lanes);
    group = alone ? 1 : table.lanes;
    groups = (lines + group - 1) / group;
    pieces = std::clamp<int64_t>(groups, 1, kPieces);
    room = (table.workspace(s.n, padded, alone) + 63) / 64 * 64;
  }
};

template <class T>
void run_as(const Way& way, const FftShape& s, const Tensor& source, const Tensor& result, int64_t d, char* room) {
  const TensorImpl &in = *source.impl(), &out = *result.impl();
  const Lines from(in, d), to(out, d);
  const auto plan = fft_plan<T>(way.n);
  const FftLines<T> lines{plan.get(), way.halves, s.inverse, s.real_in,  s.real_out,    s.whole,       way.narrow && way.wide,
                          s.n,        T(s.scale), in.data(), out.data(), in.strides[d], out.strides[d]};
  parallel_each(way.pieces, [&](int64_t p) {
    int64_t in_start[kMostLanes], out_start[kMostLanes];
    for (int64_t g = way.groups * p / way.pieces; g < way.groups * (p + 1) / way.pieces; ++g) {
      const int64_t first = g * way.group, count = std::min(way.group, way.lines - first);
      from.starts(first, count, in_start), to.starts(first, count, out_start);
      fft_table<T>().run(lines, way.alone, count, in_start, out_start, room + int64_t(thread_index()) * way.room);
    }
  });
}

}  // namespace

void infer_fft(Call& c, const char* who, const FftShape& s, int64_t dim) {
  const Tensor& t = c.tensor(0);
  DY_CHECK_AS(TypeError, s.real_in ? t.dtype().is_floating_point() || t.dtype().is_scaled() : t.dtype().is_complex(),
              "{}: needs {} numbers: self is {}", who, s.real_in ? "real floating-point" : "complex", describe(t));
  DY_CHECK_AS(IndexError, t.dim() > 0, "{}: a 0-d tensor has no dimension to transform: self is {}", who, describe(t));
  const int64_t d = wrap_dim(who, dim, t.dim());
  DY_CHECK(s.n >= 1 && t.size(d) == (s.real_out ? s.n / 2 + 1 : s.n), "{}: the size does not fit: self is {}, n is {}", who,
           describe(t), s.n);
  Spec& o = c.spec[0];
  const DType type = compute_dtype(plain(t));
  o.dtype = s.real_out ? type.to_real() : type.to_complex();
  o.device = t.device();
  o.shape(t.sizes());
  o.sizes[d] = s.out_size();
}
int64_t fft_workspace(const Call& c, const FftShape& s) {
  const Way way(c, s);
  return num_threads() * way.room + staged_bytes(c.tensor(0));
}
double fft_flops(const Call& c, const FftShape& s) {
  const double n = double(s.n), lines = double(c.spec[0].numel()) / double(s.out_size());
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
  const int64_t d = wrap_dim(c.name, dim, source.dim());
  const Way way(c, s);
  way.wide ? run_as<double>(way, s, source, c.out[0], d, room) : run_as<float>(way, s, source, c.out[0], d, room);
}

}  // namespace dyadic::inline v1::ops
