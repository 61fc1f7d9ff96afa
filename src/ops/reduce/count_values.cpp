#include <algorithm>
#include <atomic>

#include "ops/reduce/counting.h"

namespace dyadic::inline v1::ops {
namespace {

void infer(Call& c) {
  DY_CHECK_AS(TypeError, c.tensor(0).dtype().is_integer(), "{}: self is integers: it is {}", c.name, describe(c.tensor(0)));
  c.spec[0].dtype = i64;
  c.spec[0].device = c.tensor(0).device();
  c.spec[0].shape({c.integer(2)});
}
int64_t workspace(const Call& c) { return counting_workspace(c.tensor(0).numel(), c.integer(2)); }
// False: a number is none of low ... low + size - 1.
template <class T> bool count_tile(const T* x, int64_t n, int64_t low, int64_t size, const Counts& counts) {
  bool inside = true;
  auto add = [&](int way, T v) {
    const uint64_t k = uint64_t(v) - uint64_t(low);
    if (k < uint64_t(size)) [[likely]]
      ++counts.way[way][k];
    else
      inside = false;
  };
  int64_t i = 0;
  for (; i + kCountWays <= n; i += kCountWays)
    for (int w = 0; w < kCountWays; ++w) add(w, x[i + w]);
  for (; i < n; ++i) add(0, x[i]);
  return inside;
}
void forward(Call& c) {
  constexpr int64_t kTile = 1024;
  const Tensor& t = c.tensor(0);
  const Format& f = *t.dtype().format();
  const int64_t low = c.integer(1), size = c.integer(2);
  std::atomic<bool> inside{true};
  count_all(c, t.numel(), size, [&](int64_t begin, int64_t end, const Counts& counts) {
    alignas(64) int64_t tile[kTile];
    bool good = true;
    for (int64_t at = begin; at < end; at += kTile) {
      const int64_t n = std::min(kTile, end - at);
      f.def->decode(t.impl()->data() + at * f.itemsize(), tile, n);
      good &= f.compute() == Compute::i32 ? count_tile(reinterpret_cast<const int32_t*>(tile), n, low, size, counts)
                                          : count_tile(tile, n, low, size, counts);
    }
    if (!good) inside = false;
  });
  DY_CHECK_AS(IndexError, inside, "{}: a number is out of range: self is {}; expected {} to {}", c.name, describe(t), low,
              low + size - 1);
}

}  // namespace

extern constexpr OpDef count_values_op = {
    .sig = "count_values(Tensor self, int low, int size) -> Tensor",
    .doc = "How often each of the integers from low to low + size - 1 occurs; there are no others. int64.",
    .samples = "count_values(indices(5; 7), 0, 5)\ncount_values(indices(3; 0), 0, 3)\ncount_values(indices(5; 4), -2, 9)",
    .bad = "count_values(indices(5; 2), 0, 3) => count_values: a number is out of range: self is i64[2]; expected 0 to 2",
    .skip = "cost: counting is no arithmetic\ngradcheck: a count has none",
    .infer = infer,
    .forward = forward,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops
