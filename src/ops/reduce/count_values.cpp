#include <algorithm>
#include <atomic>

#include "ops/reduce/counting.h"

namespace dyadic::inline v1::ops {
namespace {

void infer(Call& c) {
  DY_CHECK_AS(TypeError, c.tensor(0).dtype() == i64, "{}: self is int64: it is {}", c.name, describe(c.tensor(0)));
  c.spec[0].dtype = i64;
  c.spec[0].device = c.tensor(0).device();
  c.spec[0].shape({c.integer(1)});
}
int64_t workspace(const Call& c) { return counting_workspace(c.tensor(0).numel(), c.integer(1)); }
void forward(Call& c) {
  const int64_t* x = c.tensor(0).data<int64_t>();
  const int64_t size = c.integer(1), n = c.tensor(0).numel();
  std::atomic<bool> outside{false};
  count_all(c, n, size, [&](int64_t begin, int64_t end, int64_t* counts) {
    for (int64_t i = begin; i < end; ++i)
      if (uint64_t(x[i]) < uint64_t(size)) [[likely]]
        ++counts[x[i]];
      else
        outside = true;
  });
  DY_CHECK_AS(IndexError, !outside, "{}: a number is out of range: self is {}; expected 0 to {}", c.name, describe(c.tensor(0)),
              size - 1);
}

}  // namespace

extern constexpr OpDef count_values_op = {
    .sig = "count_values(Tensor self, int size) -> Tensor",
    .doc = "How often each number from 0 to size - 1 occurs; there are no others. int64.",
    .samples = "count_values(indices(5; 7), 5)\ncount_values(indices(3; 0), 3)",
    .bad = "count_values(indices(5; 2), 3) => count_values: a number is out of range: self is i64[2]; expected 0 to 2",
    .skip = "cost: counting is no arithmetic\ngradcheck: a count has none",
    .infer = infer,
    .forward = forward,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops
