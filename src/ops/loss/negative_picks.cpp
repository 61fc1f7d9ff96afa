#include <algorithm>
#include <cstring>

#include "ops/composite.h"

namespace dyadic::inline v1::ops::negative_picks_op {
namespace {

void infer(Call& c) {
  const Tensor &x = c.tensor(0), &t = c.tensor(1);
  check_float("negative_picks", x, "self");
  DY_CHECK_AS(TypeError, t.dtype() == i64, "negative_picks: classes are numbered in int64: index is {}", describe(t));
  bool fits = x.dim() >= 2 && t.dim() == x.dim() - 1;
  for (int64_t d = 0; fits && d < t.dim(); ++d) fits = t.size(d) == x.size(d ? d + 1 : 0);
  DY_CHECK(fits, "negative_picks: sizes do not fit: self is {}, index is {}", describe(x), describe(t));
  infer_like_first(c);
  c.spec[0].dtype = plain(x);
  c.spec[0].shape(t.sizes());
  c.nout = 2;
  c.spec[1].dtype = i64;
  c.spec[1].device = x.device();
}
struct Picks {
  const char* from;
  const int64_t* target;
  int64_t classes, inner, ignored;
};
// The stored elements of n places from `at` on, of W bytes each; anything where the target is ignored.
template <int64_t W> void pick(const Picks& p, int64_t at, int64_t n, char* out) {
  int64_t row = at / p.inner, column = at % p.inner;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t t = p.target[at + k];
    if (t != p.ignored) std::memcpy(out + k * W, p.from + ((row * p.classes + t) * p.inner + column) * W, W);
    if (++column == p.inner) column = 0, ++row;
  }
}
template <class T> void negate(const Picks& p, int64_t at, int64_t n, T* values) {
  for (int64_t k = 0; k < n; ++k) values[k] = p.target[at + k] == p.ignored ? T(0) : -values[k];
}
void forward(Call& c) {
  constexpr int64_t kTile = 512;
  const Tensor &x = c.tensor(0), &t = c.tensor(1);
  const int64_t n = t.numel();
  const Picks p{x.impl()->data(), t.data<int64_t>(), x.size(1), t.dim() > 1 && n ? n / t.size(0) : 1, c.integer(2)};
  int64_t counted = 0;
  for (int64_t i = 0; i < n; ++i) {
    const bool ignored = p.target[i] == p.ignored;
    DY_CHECK_AS(IndexError, (p.target[i] >= 0 && p.target[i] < p.classes) || ignored,
                "nll_loss: target out of range: target {} in place {}; there are {} classes", p.target[i], i, p.classes);
    counted += !ignored;
  }
  *c.out[1].data<int64_t>() = counted;
  const Format &f = *x.dtype().format(), &wide = compute_format(f.compute());
  const int64_t width = f.itemsize();
  const auto of_width = width == 8 ? pick<8> : width == 4 ? pick<4> : width == 2 ? pick<2> : pick<1>;
  char* to = c.out[0].impl()->data();
  parallel_for((n + kTile - 1) / kTile, 2, [&](int64_t begin, int64_t end) {
    alignas(64) char picked[kTile * 8]{}, computed[kTile * 8];
    for (int64_t at = begin * kTile; at < std::min(n, end * kTile); at += kTile) {
      const int64_t count = std::min(kTile, n - at);
      of_width(p, at, count, picked);
      convert(f, picked, wide, computed, count);
      if (f.compute() == Compute::f64)
        negate(p, at, count, reinterpret_cast<double*>(computed));
      else
        negate(p, at, count, reinterpret_cast<float*>(computed));
      convert(wide, computed, f, to + at * width, count);
    }
  });
}
void backward(Grad& g) {
  const Meta& m = g.in_meta(0);
  const Tensor ignored = eq(g.in(1), g.integer(2)), known = where(ignored, scalar_tensor(0), g.in(1));
  const Tensor slope = where(ignored, scalar_tensor(0.0), neg(g.g()));
  g.set(0, scatter(zeros(m.shape(), slope.dtype(), m.device), 1, unsqueeze(known, 1), unsqueeze(slope, 1)));
}
double flops(const Call& c) { return double(c.tensor(1).numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "negative_picks(Tensor self, Tensor index, int ignore_index=-100) -> (Tensor values, Tensor known)",
    .doc = "-self[n, index[n, ...], ...] of self [N, C, ...], 0 where index is ignore_index; and for how many it is not.",
    .samples =
        "negative_picks(randn(4, 5), indices(5; 4))\n"
        "negative_picks(randn(2, 5, 3), indices(5; 2, 3), 1)",
    .bad =
        "negative_picks(zeros(2, 3), indices(5; 2)) => nll_loss: target out of range: target 4 in place 0; there are 3 "
        "classes\n"
        "negative_picks(zeros(2, 3), indices(3; 3)) => negative_picks: sizes do not fit: self is f32[2, 3], index is i64[3]\n"
        "negative_picks(zeros(2, 3), zeros(2)) => negative_picks: classes are numbered in int64: index is f32[2]",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .needs = {in(1)},
    .flops = flops,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::negative_picks_op
