#include <algorithm>

#include "ops/reduce/counting.h"

namespace dyadic::inline v1::ops {
namespace {

void infer(Call& c) {
  const Tensor& t = c.tensor(0);
  DY_CHECK_AS(TypeError, t.dtype() == f32 || t.dtype() == f64, "{}: self is f32 or f64: it is {}", c.name, describe(t));
  c.spec[0].dtype = i64;
  c.spec[0].device = t.device();
  c.spec[0].shape({c.integer(3)});
}
int64_t workspace(const Call& c) { return counting_workspace(c.tensor(0).numel(), c.integer(3)); }

template <class T> void count(Call& c) {
  const T* x = c.tensor(0).data<T>();
  const int64_t bins = c.integer(3);
  const double low = c.real(1), high = c.real(2), width = high - low;
  count_all(c, c.tensor(0).numel(), bins, [=](int64_t begin, int64_t end, int64_t* counts) {
    for (int64_t i = begin; i < end; ++i) {
      const auto v = double(x[i]);
      if (v >= low && v <= high) ++counts[std::min(int64_t((v - low) / width * double(bins)), bins - 1)];
    }
  });
}
void forward(Call& c) { c.tensor(0).dtype() == f64 ? count<double>(c) : count<float>(c); }

}  // namespace

extern constexpr OpDef count_bins_op = {
    .sig = "count_bins(Tensor self, float low, float high, int bins) -> Tensor",
    .doc = "How many elements fall into each of so many equal bins from low to high, which the last one includes. int64.",
    .samples = "count_bins(randn(3, 4), -1.0, 2.0, 5)",
    .skip =
        "cost: counting is no arithmetic\n"
        "gradcheck: a count has none\n"
        "result_dtype: f32 or f64 in, int64 out",
    .infer = infer,
    .forward = forward,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops
