// What the kernels' transforms are of: the lines of any strides, in groups of as many as there are lanes.
#include <algorithm>
#include <cmath>
#include <memory>

#include "ops/fft/fft.h"

namespace dyadic::inline v1::ops {
namespace {

constexpr int64_t kPieces = 64, kMostLanes = 16;

struct Lines {  // of one dimension of a tensor
  const Operand& t;
  int64_t dim;
  int64_t start(int64_t line) const {
    int64_t at = 0;
    for (int64_t d = t.ndim; d-- > 0;) {
      if (d == dim) continue;
      at += line % t.lengths[d] * t.steps[d];
      line /= t.lengths[d];
    }
    return at;
  }
  // Those of `n` lines from `first` on; neighbours in the last other dimension without a division.
  void starts(int64_t first, int64_t n, int64_t* to) const {
    const int64_t last = dim == t.ndim - 1 ? t.ndim - 2 : t.ndim - 1, size = last < 0 ? 1 : t.lengths[last];
    for (int64_t i = 0; i < n;) {
      int64_t at = start(first + i);
      for (int64_t left = size - (first + i) % size; left > 0 && i < n; --left, ++i)
        to[i] = at, at += last < 0 ? 0 : t.steps[last];
    }
  }
};

// Which complex transform is taken: real numbers are the parts of half as many complex ones where their number is even. In
// double: what is double, and what needs a chirp.
struct Way {
  bool halves, narrow, wide, alone;
  int64_t n, lines, group, groups, pieces, room;  // room: bytes of a thread
  Way() = default;
  Way(const Operand& out, const FftShape& s)
      : halves((s.real_in || s.real_out) && s.n % 2 == 0),
        narrow(out.dtype() == f32 || out.dtype() == c64),
        n(halves ? s.n / 2 : s.n),
        lines(out.numel() / std::max<int64_t>(s.out_size(), 1)) {
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

struct Parameters {
  FftShape shape;
  Way way;
  Operand given, in, out;  // in: `given` in the type that is computed in, which is a copy where that is another
  int64_t dim, copied;     // copied: bytes
};

// The tables of a length are kept, and made by the first run that asks for them: a plan could not own them.
template <class T> void run_as(const Parameters& p, const void* in_data, void* out_data, char* room) {
  const Way& way = p.way;
  const FftShape& s = p.shape;
  const Lines from{p.in, p.dim}, to{p.out, p.dim};
  const auto plan = fft_plan<T>(way.n);
  const FftLines<T> lines{
      plan.get(), way.halves, s.inverse, s.real_in, s.real_out,        s.whole,           way.narrow && way.wide,
      s.n,        T(s.scale), in_data,   out_data,  p.in.steps[p.dim], p.out.steps[p.dim]};
  parallel_each(way.pieces, [&](int64_t piece) {
    int64_t in_start[kMostLanes], out_start[kMostLanes];
    for (int64_t g = way.groups * piece / way.pieces; g < way.groups * (piece + 1) / way.pieces; ++g) {
      const int64_t first = g * way.group, count = std::min(way.group, way.lines - first);
      from.starts(first, count, in_start), to.starts(first, count, out_start);
      fft_table<T>().run(lines, way.alone, count, in_start, out_start, room + int64_t(thread_index()) * way.room);
    }
  });
}

void run(const Parameters& p, const Pointers& at) {
  if (p.out.numel() == 0) return;
  char* room = static_cast<char*>(at.workspace);
  const void* in = at.in[0];
  if (p.copied) {
    copy_elements(Array(p.in, static_cast<void*>(room)), at.input(0, p.given));
    in = room;
    room += p.copied;
  }
  p.way.wide ? run_as<double>(p, in, at.out[0], room) : run_as<float>(p, in, at.out[0], room);
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
double fft_flops(const Call& c, const FftShape& s) {
  const double n = double(s.n), lines = double(c.spec[0].numel()) / double(s.out_size());
  return 5 * lines * n * std::max(std::log2(n), 1.0);
}

void plan_fft(Call& c, const FftShape& s, int64_t dim) {
  Parameters& p = c.plan.make<run, Parameters>();
  p = {s, Way(c.result(), s), c.operand(0), c.operand(0), c.result(), wrap_dim(c.name, dim, c.tensor(0).dim()), 0};
  if (const DType computed = compute_dtype(p.given.dtype()); computed != p.given.dtype()) {  // f16 and the like
    p.in = Operand(p.given.sizes(), computed);
    p.copied = (p.in.numel() * p.in.itemsize() + 63) / 64 * 64;
  }
  c.plan.workspace = num_threads() * p.way.room + p.copied;
}

}  // namespace dyadic::inline v1::ops
