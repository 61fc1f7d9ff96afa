#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::repeat_interleave_tensor_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];

  const Tensor flat = !a.has(arg::dim) ? reshape(t, {-1}) : t.dim() ? t : view(t, {1});
  const int64_t dim = !a.has(arg::dim) ? 0 : wrap_dim("repeat_interleave", a[arg::dim], flat.dim()), n = flat.size(dim);
  Tensor repeats = a[arg::repeats];
  DY_CHECK_AS(TypeError, repeats.dtype().is_integer(), "repeat_interleave: repeats are integers: repeats is {}",
              describe(repeats));
  DY_CHECK(repeats.dim() <= 1 && (repeats.numel() == 1 || repeats.numel() == n),
           "repeat_interleave: one number per entry is needed: repeats is {} for {} entries", describe(repeats), n);
  check_has_values("repeat_interleave", repeats);
  const Tensor counts = contiguous(expand(reshape(to(repeats.to(cpu), i64), {-1}), {n}));
  const int64_t* count = counts.data<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < n; ++i) {
    DY_CHECK(count[i] >= 0, "repeat_interleave: negative repeats: {} at position {}", count[i], i);
    total += count[i];
  }
  DY_CHECK(!a.has(arg::output_size) || a[arg::output_size] == total,
           "repeat_interleave: output_size is {}, but the repeats sum to {}", a[arg::output_size], total);
  Tensor index = empty({total}, i64);
  int64_t* at = index.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) at = std::fill_n(at, count[i], i);
  return index_select(flat, dim, index.to(flat.device()));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "repeat_interleave.tensor(Tensor self, Tensor repeats, int? dim=None, *, int? output_size=None) -> Tensor",
    .doc = "Entry i along dim (of the flattened tensor without dim) repeated repeats[i] times.",
    .kind = OpKind::composite,
    .samples =
        "repeat_interleave_tensor(randn(3, 2), indices(3; 3), 0)\n"
        "repeat_interleave_tensor(randn(2, 2), indices(3; 1))",
    .skip = "meta: the size depends on values",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::repeat_interleave_tensor_op
