#include <algorithm>

#include "ops/reduce/counting.h"

namespace dyadic::inline v1::ops::count_bins_op {
namespace {

void infer(Call& c) {
  const Tensor& t = c.tensor(0);
  check_float(c.name, t, "self");
  c.spec[0].dtype = i64;
  c.spec[0].device = t.device();
  c.spec[0].shape({c.integer(3)});
}
int64_t workspace(const Call& c) { return counting_workspace(c.tensor(0).numel(), c.integer(3)); }

struct Bins {
  double low, high, width;
  int64_t count;
  template <class T> void add(const T* x, int64_t n, const Counts& counts) const {
    for (int64_t i = 0; i < n; ++i) {
      const auto v = double(x[i]);
      if (v >= low && v <= high) ++counts.way[i % kCountWays][std::min(int64_t((v - low) / width * double(count)), count - 1)];
    }
  }
};
void forward(Call& c) {
  constexpr int64_t kTile = 256;
  const Tensor& t = c.tensor(0);
  const Bins bins{c.real(1), c.real(2), c.real(2) - c.real(1), c.integer(3)};
  count_all(c, t.numel(), bins.count, [&](int64_t begin, int64_t end, const Counts& counts) {
    if (t.dtype() == f32) return bins.add(t.data<float>() + begin, end - begin, counts);
    if (t.dtype() == f64) return bins.add(t.data<double>() + begin, end - begin, counts);
    double tile[kTile];
    for (int64_t at = begin; at < end; at += kTile) {
      const int64_t n = std::min(kTile, end - at);
      convert(*t.dtype().format(), t.impl()->data() + at * t.dtype().itemsize(), *f64.format(), tile, n);
      bins.add(tile, n, counts);
    }
  });
}
double flops(const Call& c) { return 3.0 * double(c.tensor(0).numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "count_bins(Tensor self, float low, float high, int bins) -> Tensor",
    .doc = "How many elements fall into each of so many equal bins from low to high, which the last one includes. int64.",
    .samples = "count_bins(randn(3, 4), -1.0, 2.0, 5)",
    .skip = "gradcheck: a count has none",
    .infer = infer,
    .forward = forward,
    .flops = flops,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::count_bins_op
