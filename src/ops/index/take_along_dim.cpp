#include "ops/common.h"
#include "tensor/batched.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1::ops::take_along_dim_op {
namespace {

Tensor compose(Args a) {
  const Tensor &self = a[arg::self], &index = a[arg::indices];
  DY_CHECK_AS(TypeError, index.dtype() == i64, "take_along_dim: the index is int64: indices is {}; convert with .to(i64)",
              describe(index));
  if (!a.has(arg::dim)) return take(self, reshape(index, {-1}));
  DY_CHECK(self.dim() == index.dim() && self.dim() > 0,
           "take_along_dim: as many dimensions are needed: self is {}, indices is {}", describe(self), describe(index));
  const int64_t dim = wrap_dim("take_along_dim", a[arg::dim], self.dim()), n = self.size(dim);
  std::vector<int64_t> from = self.sizes().vec(), at = index.sizes().vec();
  for (size_t d = 0; d < from.size(); ++d) {
    if (int64_t(d) == dim) continue;
    DY_CHECK(from[d] == at[d] || from[d] == 1 || at[d] == 1,
             "take_along_dim: shapes do not broadcast: self is {}, indices is {}", describe(self), describe(index));
    from[d] = at[d] = from[d] == 1 ? at[d] : from[d];
  }
  const bool wraps =  // rare, and three passes; a step that is written down has them always
      !index.is_meta() && index.numel() && (t_step_watcher || amin(every_entry(index)).item<int64_t>() < 0);
  const Tensor positive = wraps ? where(lt(index, 0), add(index, n), index) : index;
  return gather(expand(self, from), dim, expand(positive, at));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
    .doc =
        "gather with self and indices broadcast outside of dim; without dim of the flattened tensor. Negative indices count "
        "from the end.",
    .kind = OpKind::composite,
    .samples =
        "take_along_dim(randn(3, 4), indices(4; 3, 2), 1)\n"
        "take_along_dim(randn(3, 4), indices(3; 2, 1), 0)\n"
        "take_along_dim(randn(3, 4), indices(12; 5))",
    .bad =
        "take_along_dim(zeros(2, 3), indices(2; 2), 0) => take_along_dim: as many dimensions are needed: self is f32[2, 3], "
        "indices is i64[2]",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::take_along_dim_op
