#include <algorithm>

#include "corridor/batching.h"
#include "ops/pool/max_pool_shape.h"

namespace dyadic::inline v1::ops::adaptive_max_pool_op {
namespace {

int64_t rank(const Call& c) { return int64_t(c[arg::output_size].size()); }
void infer(Call& c) {
  const Tensor& x = c[arg::input];
  const IntList size = c[arg::output_size];
  check_float("adaptive_max_pool", x, "input");
  bool fits = rank(c) >= 1 && rank(c) <= 3 && x.dim() >= rank(c);
  for (int64_t d = 0; fits && d < rank(c); ++d) fits = size[size_t(d)] >= 0 && x.size(x.dim() - rank(c) + d) > 0;
  DY_CHECK(fits, "adaptive_max_pool: sizes do not fit: input is {}, output_size is {}", describe(x), shape_text(size));
  infer_max_pool(c, rank(c), size.begin());
}
MaxPoolShape shape(const Call& c) {
  MaxPoolShape s = max_pool_shape(c[arg::input], rank(c), c[arg::output_size].begin());
  for (int d = 0; d < 3; ++d)
    if (s.out[d]) s.taps[d] = std::min(s.in[d], (s.in[d] + s.out[d] - 1) / s.out[d] + 1);
  return s;
}
void plan(Call& c) {
  const MaxPoolShape s = shape(c);
  plan_max_pool(c, s, [&](int d, int64_t i, int64_t* begin, int64_t* count) {
    *begin = i * s.in[d] / s.out[d];
    *count = ((i + 1) * s.in[d] + s.out[d] - 1) / s.out[d] - *begin;
  });
}
void backward(Grad& g) { backward_max_pool(g, int64_t(g[arg::output_size].size())); }
double flops(const Call& c) { return double(c[arg::input].numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "adaptive_max_pool(Tensor input, int[] output_size) -> (Tensor, Tensor)",
    .doc =
        "The largest element of each of output_size parts of the last dimensions, as many as it has entries, and its index "
        "among "
        "them, row-major. Part i of n spans floor(i size / n) to ceil((i + 1) size / n).",
    .internal = true,
    .samples =
        "adaptive_max_pool(randn(2, 7), [3])\nadaptive_max_pool(randn(2, 5, 6), [3, 4])\nadaptive_max_pool(randn(4, 3, 5), [2, "
        "3, "
        "1])",
    .bad = "adaptive_max_pool(zeros(3), [2, 2]) => adaptive_max_pool: sizes do not fit: input is f32[3], output_size is [2, 2]",
    .skip = "second_output: indices are not differentiated",
    .infer = infer,
    .backward = backward,
    .needs = {out(1)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::adaptive_max_pool_op
