#include "corridor/batching.h"
#include "ops/composite.h"

namespace dyadic::inline v1::ops::max_pool_take_op {
namespace {

struct Planes {
  int64_t count = 1, in = 1, out = 1;
};
Planes planes(const Call& c) {
  const Tensor &x = c[arg::input], &places = c[arg::indices];
  const int64_t rank = c[arg::rank];
  Planes p;
  for (int64_t d = 0; d < x.dim(); ++d) (d < x.dim() - rank ? p.count : p.in) *= x.size(d);
  for (int64_t d = x.dim() - rank; d < x.dim(); ++d) p.out *= places.size(d);
  return p;
}
void infer(Call& c) {
  const Tensor &x = c[arg::input], &places = c[arg::indices];
  const int64_t rank = c[arg::rank];
  DY_CHECK_AS(TypeError, places.dtype() == i64, "max_pool_take: indices are int64: indices is {}", describe(places));
  bool fits = rank >= 1 && x.dim() >= rank && places.dim() == x.dim();
  for (int64_t d = 0; fits && d < x.dim() - rank; ++d) fits = x.size(d) == places.size(d);
  DY_CHECK(fits, "max_pool_take: sizes do not fit: input is {}, indices is {}", describe(x), describe(places));
  c.spec[0].dtype = plain(x);
  c.spec[0].device = x.device();
  c.spec[0].shape(places.sizes());
}
struct Parameters {
  Planes planes;
  int64_t size;  // bytes of an element
};
void run(const Parameters& parameters, const Pointers& at) {
  const Planes p = parameters.planes;
  const auto* place = static_cast<const int64_t*>(at.in[1]);
  for (int64_t i = 0; i < p.count * p.out; ++i)
    DY_CHECK_AS(IndexError, uint64_t(place[i]) < uint64_t(p.in),
                "max_pool_take: index out of range: index {} at position {}; there are {} elements", place[i], i, p.in);
  const char* x = static_cast<const char*>(at.in[0]);
  char* y = static_cast<char*>(at.out[0]);
  const int64_t size = parameters.size;
  parallel_for(p.count * p.out, 8192, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      __builtin_memcpy(y + i * size, x + (i / p.out * p.in + place[i]) * size, size_t(size));
  });
}
void plan(Call& c) { c.plan.set<run>(Parameters{planes(c), c.result().itemsize()}); }
void backward(Grad& g) {
  const Meta& m = g.in_meta(arg::input);
  const int64_t rank = g[arg::rank];
  g.set(arg::input, call(Op::max_pool_backward_, g.g(), g.in(arg::indices), IntList(m.sizes + m.ndim - rank, size_t(rank))));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "max_pool_take(Tensor input, Tensor indices, int rank) -> Tensor",
    .doc = "The elements of input's last `rank` dimensions at indices, which count them row-major.",
    .internal = true,
    .samples = "max_pool_take(randn(2, 7), indices(7; 2, 3), 1)\nmax_pool_take(randn(2, 4, 5), indices(20; 2, 2, 3), 2)",
    .bad =
        "max_pool_take(zeros(4), indices(9; 1), 1) => max_pool_take: index out of range: index 8 at position 0; there are 4 "
        "elements",
    .infer = infer,
    .backward = backward,
    .needs = {in(arg::indices)},
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::max_pool_take_op
