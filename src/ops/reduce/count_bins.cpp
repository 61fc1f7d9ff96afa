#include <algorithm>

#include "ops/reduce/counting.h"

namespace dyadic::inline v1::ops::count_bins_op {
namespace {

void infer(Call& c) {
  const Tensor& t = c[arg::self];
  check_float(c.name, t, "self");
  c.spec[0].dtype = i64;
  c.spec[0].device = t.device();
  c.spec[0].shape({c[arg::bins]});
}

struct Bins {
  const Format* format;
  int64_t numel;
  double low, high, width;
  int64_t count;
  template <class T> void add(const T* x, int64_t n, const Counts& counts) const {
    for (int64_t i = 0; i < n; ++i) {
      const auto v = double(x[i]);
      if (v >= low && v <= high) ++counts.way[i % kCountWays][std::min(int64_t((v - low) / width * double(count)), count - 1)];
    }
  }
};
void run(const Bins& p, const Pointers& at) {
  constexpr int64_t kTile = 256;
  const char* data = static_cast<const char*>(at.in[0]);
  count_all(at, p.numel, p.count, [&](int64_t begin, int64_t end, const Counts& counts) {
    if (p.format == f32.format()) return p.add(reinterpret_cast<const float*>(data) + begin, end - begin, counts);
    if (p.format == f64.format()) return p.add(reinterpret_cast<const double*>(data) + begin, end - begin, counts);
    double tile[kTile];
    for (int64_t i = begin; i < end; i += kTile) {
      const int64_t n = std::min(kTile, end - i);
      convert(*p.format, data + i * p.format->itemsize(), *f64.format(), tile, n);
      p.add(tile, n, counts);
    }
  });
}
void plan(Call& c) {
  const int64_t n = c[arg::self].numel(), bins = c[arg::bins];
  c.plan.workspace = counting_workspace(n, bins);
  c.plan.set<run>(Bins{c[arg::self].dtype().format(), n, c[arg::low], c[arg::high], c[arg::high] - c[arg::low], bins});
}
double flops(const Call& c) { return 3.0 * double(c[arg::self].numel()); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "count_bins(Tensor self, float low, float high, int bins) -> Tensor",
    .doc = "How many elements fall into each of so many equal bins from low to high, which the last one includes. int64.",
    .internal = true,
    .samples = "count_bins(randn(3, 4), -1.0, 2.0, 5)",
    .skip = "gradcheck: a count has none",
    .infer = infer,
    .flops = flops,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};

}  // namespace dyadic::inline v1::ops::count_bins_op
