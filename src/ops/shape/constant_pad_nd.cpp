#include <algorithm>

#include "corridor/batching.h"
#include "ops/shape/parts.h"

namespace dyadic::inline v1::ops::constant_pad_nd_op {
namespace {

struct Sides {
  int64_t before = 0, after = 0;
};
Sides sides(IntList pad, int64_t ndim, int64_t d) {
  const auto k = size_t(2 * (ndim - 1 - d));
  return k < pad.size() ? Sides{pad[k], pad[k + 1]} : Sides{};
}
// The part of a tensor that is neither padding of it (pad) nor cut off by it (the negative of pad).
Tensor inside(Tensor t, IntList pad, int64_t sign) {
  for (int64_t d = 0; d < t.dim(); ++d) {
    const Sides s = sides(pad, t.dim(), d);
    const int64_t before = std::max<int64_t>(sign * s.before, 0), after = std::max<int64_t>(sign * s.after, 0);
    if (before || after) t = narrow(t, d, before, t.size(d) - before - after);
  }
  return t;
}
void infer(Call& c) {
  infer_like_first(c);
  const IntList pad = c[arg::pad];
  const int64_t n = c[arg::self].dim();
  DY_CHECK(pad.size() % 2 == 0 && int64_t(pad.size()) <= 2 * n,
           "constant_pad_nd: pad has two numbers per dimension, the last dimension first: self is {}, pad is {}",
           describe(c[arg::self]), shape_text(pad));
  for (int64_t d = 0; d < n; ++d) {
    const Sides s = sides(pad, n, d);
    c.spec[0].sizes[d] += s.before + s.after;
    const int64_t size = c[arg::self].size(d);
    DY_CHECK(c.spec[0].sizes[d] >= 0 && std::min<int64_t>(s.before, 0) + std::min<int64_t>(s.after, 0) + size >= 0,
             "constant_pad_nd: more is cut off than there is: self is {}, pad is {}", describe(c[arg::self]), shape_text(pad));
  }
}
struct Parameters {
  Operand out, self;
  Part to, from;
  Scalar value = 0;
};
void run(const Parameters& p, const Pointers& at) {
  const Array out = at.output(0, p.out);
  fill(out, p.value);
  assign(p.to.in(out), p.from.in(at.input(0, p.self)));
}
void plan(Call& c) {
  const Operand out = c.result(), self = c.operand(arg::self);
  const IntList pad = c[arg::pad];
  c.plan.set<run>(Parameters{out, self, part_of(out, [&](const Tensor& t) { return inside(t, pad, 1); }),
                             part_of(self, [&](const Tensor& t) { return inside(t, pad, -1); }), c[arg::value]});
}
void backward(Grad& g) {
  std::vector<int64_t> back = g[arg::pad].vec();
  for (int64_t& p : back) p = -p;
  g.set(arg::self, constant_pad_nd(g.g(), back));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor",
    .doc =
        "self with pad[0] and pad[1] entries of `value` before and after its last dimension, pad[2] and pad[3] of the one "
        "before, and so on; negative numbers cut entries off.",
    .samples =
        "constant_pad_nd(randn(2, 3), [1, 2])\n"
        "constant_pad_nd(randn(2, 3), [-1, 1, 0, 2], 1.5)\n"
        "constant_pad_nd(randn(2), [0, 0])\n"
        "constant_pad_nd(randn(0, 2), [0, 0, 1, 1], 2)",
    .bad =
        "constant_pad_nd(zeros(2), [1]) => constant_pad_nd: pad has two numbers per dimension, the last dimension first: self "
        "is f32[2], pad is [1]\n"
        "constant_pad_nd(zeros(2), [-3, 1]) => constant_pad_nd: more is cut off than there is: self is f32[2], pad is [-3, 1]",
    .infer = infer,
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::constant_pad_nd_op
