#include <algorithm>

#include "corridor/batching.h"
#include "ops/pool/max_pool_shape.h"

namespace dyadic::inline v1::ops::max_pool_op {
namespace {

struct Windows3 {
  int64_t rank, out[3];
};
Windows3 windows(const Call& c) {
  const Tensor& x = c[arg::input];
  Windows3 w{int64_t(c[arg::kernel_size].size()), {}};
  bool fits = w.rank >= 1 && w.rank <= 3 && x.dim() >= w.rank;
  for (int i = 2; i < 5; ++i) fits &= int64_t(c.ints(i).size()) == w.rank;
  DY_CHECK(fits, "max_pool: dimensions do not fit: input is {}, kernel_size is {}; stride, padding and dilation have as many",
           describe(x), shape_text(c[arg::kernel_size]));
  for (int64_t d = 0; d < w.rank; ++d) {
    const auto at = size_t(d);
    DY_CHECK(c[arg::kernel_size][at] > 0 && c[arg::stride][at] > 0 && c[arg::dilation][at] > 0,
             "max_pool: a window is not positive: kernel_size is {}, stride is {}, dilation is {}",
             shape_text(c[arg::kernel_size]), shape_text(c[arg::stride]), shape_text(c[arg::dilation]));
    w.out[d] = pooled_size("max_pool", x.size(x.dim() - w.rank + d), c[arg::kernel_size][at], c[arg::stride][at],
                           c[arg::padding][at], c[arg::dilation][at], c[arg::ceil_mode]);
  }
  return w;
}
MaxPoolShape shape(const Call& c) {
  const Windows3 w = windows(c);
  MaxPoolShape s = max_pool_shape(c[arg::input], w.rank, w.out);
  for (int64_t d = 0; d < w.rank; ++d) {
    const auto at = size_t(d), axis = size_t(3 - w.rank + d);
    s.step[axis] = c[arg::dilation][at];
    s.taps[axis] = std::min(c[arg::kernel_size][at], s.in[axis]);
  }
  return s;
}
void infer(Call& c) {
  check_float("max_pool", c[arg::input], "input");
  const Windows3 w = windows(c);
  infer_max_pool(c, w.rank, w.out);
}
void plan(Call& c) {
  const MaxPoolShape s = shape(c);
  const int64_t missing = 3 - int64_t(c[arg::kernel_size].size());
  plan_max_pool(c, s, [&](int d, int64_t i, int64_t* begin, int64_t* count) {
    *begin = 0, *count = 1;
    if (d < missing) return;
    const auto at = size_t(d - missing);
    const int64_t kernel = c[arg::kernel_size][at], step = c[arg::dilation][at],
                  first = i * c[arg::stride][at] - c[arg::padding][at];
    const int64_t skipped = first < 0 ? (-first + step - 1) / step : 0;
    *begin = first + skipped * step;
    *count = std::max<int64_t>(0, std::min(kernel - skipped, (s.in[d] - *begin + step - 1) / step));
    DY_CHECK(*count > 0,
             "max_pool: a window has no elements: input is {}, window {} of dimension {}, kernel_size is {}, padding is {}, "
             "dilation is {}",
             describe(c[arg::input]), i, d - missing, shape_text(c[arg::kernel_size]), shape_text(c[arg::padding]),
             shape_text(c[arg::dilation]));
  });
}
void backward(Grad& g) { backward_max_pool(g, int64_t(g[arg::kernel_size].size())); }
double flops(const Call& c) {
  double n = double(c.spec[0].numel());
  for (int64_t k : c[arg::kernel_size]) n *= double(k);
  return n;
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "max_pool(Tensor input, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> (Tensor, "
        "Tensor)",
    .doc =
        "The largest element of each window over the last dimensions, as many as kernel_size has entries, and its index among "
        "them, row-major.",
    .internal = true,
    .samples =
        "max_pool(randn(2, 7), [2], [2], [0], [1], False)\nmax_pool(randn(2, 5, 6), [3, 2], [2, 1], [1, 0], [1, 2], True)\n"
        "max_pool(randn(2, 3, 150), [2, 3], [1, 2], [0, 1], [1, 1], False)\n"
        "max_pool(randn(4, 3, 5), [2, 2, 2], [2, 2, 2], [1, 1, 1], [1, 1, 1], False)",
    .bad =
        "max_pool(zeros(3), [5], [1], [0], [1], False) => max_pool: the window does not fit: 3 elements with padding 0, the "
        "window spans 5\n"
        "max_pool(zeros(2), [2], [1], [1], [3], False) => max_pool: a window has no elements: input is f32[2], window 0 of "
        "dimension 0, kernel_size is [2], padding is [1], dilation is [3]",
    .skip = "second_output: indices are not differentiated",
    .infer = infer,
    .backward = backward,
    .needs = {out(1)},
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::max_pool_op
