#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::triangle_op {
namespace {

void infer(Call& c) {
  DY_CHECK(c.tensor(0).dim() >= 2, "triangle: needs a matrix: self is {}", describe(c.tensor(0)));
  infer_like_first(c);
}
void forward(Call& c) {
  const Tensor& x = c.tensor(0);
  const bool lower = c.boolean(2);
  const int64_t rows = x.size(-2), cols = x.size(-1), width = x.dtype().itemsize(), all = cols * width;
  const int64_t diagonal = std::clamp(c.integer(1), -rows - 1, cols + 1);
  const char* from = c.impl(0).data();
  char* to = c.out[0].impl()->data();
  const int64_t grain = std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(all, 1));
  parallel_for(cols ? x.numel() / cols : 0, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int64_t cut = std::clamp<int64_t>(r % rows + diagonal + (lower ? 1 : 0), 0, cols) * width;
      const int64_t kept = lower ? 0 : cut, zeros = lower ? cut : 0;
      std::memcpy(to + r * all + kept, from + r * all + kept, size_t(lower ? cut : all - cut));
      std::memset(to + r * all + zeros, 0, size_t(lower ? all - cut : cut));
    }
  });
}
void backward(Grad& g) { g.set(0, call(Op::triangle_, g.g(), g.integer(1), g.boolean(2))); }

}  // namespace

extern constexpr OpDef record = {
    .sig = "triangle(Tensor self, int diagonal, bool lower) -> Tensor",
    .doc = "tril (lower) or triu: the entries on one side of a diagonal of the last two dimensions, zeros elsewhere.",
    .internal = true,
    .samples =
        "triangle(randn(3, 4), 1, True)\n"
        "triangle(randn(2, 4, 3), -1, False)\n"
        "triangle(randn(3, 0), 0, True)",
    .infer = infer,
    .forward = forward,
    .backward = backward,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::triangle_op
