#include <algorithm>
#include <cstring>

#include "corridor/batching.h"
#include "ops/composite.h"

namespace dyadic::inline v1::ops::negative_picks_op {
namespace {

void infer(Call& c) {
  const Tensor &x = c[arg::self], &t = c[arg::index];
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
struct Parameters {
  const Format* format;
  int64_t n, classes, inner, ignored;
};
struct Picks {
  const char* from;
  const int64_t* target;
  int64_t classes, inner, ignored;
};
// The stored elements of n places from `at` on; anything where the target is ignored.
template <class T> void pick(const Picks& picks, int64_t at, int64_t n, char* out) {
  const Picks p = picks;  // what is written is none of it
  int64_t row = at / p.inner, column = at % p.inner;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t t = p.target[at + k];
    if (t != p.ignored)
      std::memcpy(out + k * int64_t(sizeof(T)), p.from + ((row * p.classes + t) * p.inner + column) * int64_t(sizeof(T)),
                  sizeof(T));
    if (++column == p.inner) column = 0, ++row;
  }
}
template <class T> void negate(const int64_t* target, int64_t ignored, int64_t n, T* values) {
  for (int64_t k = 0; k < n; ++k) values[k] = target[k] == ignored ? T(0) : -values[k];
}
// How many targets count; throws if one is no class.
int64_t count_known(const Picks& p, int64_t n) {
  int64_t known = 0, outside = 0;
  for (int64_t i = 0; i < n; ++i) {
    const bool counts = p.target[i] != p.ignored;
    known += counts;
    outside += counts && uint64_t(p.target[i]) >= uint64_t(p.classes);
  }
  for (int64_t i = 0; outside && i < n; ++i)
    DY_CHECK_AS(IndexError, (p.target[i] >= 0 && p.target[i] < p.classes) || p.target[i] == p.ignored,
                "nll_loss: target out of range: target {} in place {}; there are {} classes", p.target[i], i, p.classes);
  return known;
}
void run(const Parameters& parameters, const Pointers& where) {
  constexpr int64_t kTile = 512;
  const int64_t n = parameters.n;
  const Picks p{static_cast<const char*>(where.in[0]), static_cast<const int64_t*>(where.in[1]), parameters.classes,
                parameters.inner, parameters.ignored};
  *static_cast<int64_t*>(where.out[1]) = count_known(p, n);
  const Format &f = *parameters.format, &wide = compute_format(f.compute());
  const bool as_stored = &f == &wide;  // then tiles lie in the result itself
  const int64_t width = f.itemsize();
  const auto of_width = width == 8 ? pick<uint64_t> : width == 4 ? pick<uint32_t> : width == 2 ? pick<uint16_t> : pick<uint8_t>;
  char* to = static_cast<char*>(where.out[0]);
  parallel_for((n + kTile - 1) / kTile, 8, [&](int64_t begin, int64_t end) {
    alignas(64) char picked[kTile * 4], computed[kTile * 4];  // f32 and narrower
    for (int64_t at = begin * kTile; at < std::min(n, end * kTile); at += kTile) {
      const int64_t count = std::min(kTile, n - at);
      char *stored = as_stored ? to + at * width : picked, *values = as_stored ? stored : computed;
      of_width(p, at, count, stored);
      if (!as_stored) convert(f, stored, wide, values, count);
      if (f.compute() == Compute::f64)
        negate(p.target + at, p.ignored, count, reinterpret_cast<double*>(values));
      else
        negate(p.target + at, p.ignored, count, reinterpret_cast<float*>(values));
      if (!as_stored) convert(wide, values, f, to + at * width, count);
    }
  });
}
void plan(Call& c) {
  const Tensor &x = c[arg::self], &t = c[arg::index];
  const int64_t n = t.numel(), inner = t.dim() > 1 && n ? n / t.size(0) : 1;
  c.plan.set<run>(Parameters{x.dtype().format(), n, x.size(1), inner, c[arg::ignore_index]});
}
void backward(Grad& g) {
  const Meta& m = g.in_meta(arg::self);
  const Tensor ignored = eq(g.in(arg::index), g[arg::ignore_index]), known = where(ignored, scalar_tensor(0), g.in(arg::index));
  const Tensor slope = where(ignored, scalar_tensor(0.0), neg(g.g()));
  g.set(arg::self, scatter(zeros(m.shape(), slope.dtype(), m.device), 1, unsqueeze(known, 1), unsqueeze(slope, 1)));
}
double flops(const Call& c) { return double(c[arg::index].numel()); }

// Rows of all entries; each counts its own.
bool batched(BatchedCall& b) {
  const Tensor index = b.whole(arg::index);
  const Tensor known = ne(index, b.c[arg::ignore_index]);
  const std::vector<Tensor> all =
      call_all(Op::negative_picks_, b.whole(arg::self).flatten(0, 1), index.flatten(0, 1), b.c[arg::ignore_index]);
  b.results[0] = all[0];
  b.results[1] = sum(known.reshape({b.entries, b.c[arg::index].numel()}), {1});
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "negative_picks(Tensor self, Tensor index, int ignore_index=-100) -> (Tensor values, Tensor known)",
    .doc = "-self[n, index[n, ...], ...] of self [N, C, ...], 0 where index is ignore_index; and for how many it is not.",
    .internal = true,
    .samples =
        "negative_picks(randn(4, 5), indices(5; 4))\n"
        "negative_picks(randn(2, 5, 3), indices(5; 2, 3), 1)",
    .bad =
        "negative_picks(zeros(2, 3), indices(5; 2)) => nll_loss: target out of range: target 4 in place 0; there are 3 "
        "classes\n"
        "negative_picks(zeros(2, 3), indices(3; 3)) => negative_picks: sizes do not fit: self is f32[2, 3], index is i64[3]\n"
        "negative_picks(zeros(2, 3), zeros(2)) => negative_picks: classes are numbered in int64: index is f32[2]",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::index)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::negative_picks_op
