#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

std::vector<Tensor> compose(const Arg* a) {
  const Tensor& t = *a[0].tensor;
  check_has_values("unique", t);
  NoGrad guard;
  const ValuesIndices s = sort(reshape(t, {-1}), 0);
  std::vector<Tensor> r = call_all(Op::unique_consecutive_, s.values);
  r[1] = reshape(scatter(empty({t.numel()}, i64), 0, s.indices, r[1]), t.sizes());
  return r;
}

}  // namespace

extern constexpr OpDef unique_op = {
    .sig = "unique(Tensor self, bool sorted=True) -> (Tensor output, Tensor inverse, Tensor counts)",
    .doc =
        "The different elements in order, for each element of self which of them it is, and how often each occurs. The size "
        "depends on values.",
    .kind = OpKind::composite,
    .samples =
        "unique(steps(3, 4))\n"
        "unique(steps(7))\n"
        "unique(steps())\n"
        "unique(steps(0))",
    .skip =
        "torch: PyTorch gives inverse and counts on request only\n"
        "meta: the size depends on values\n"
        "gradcheck: it has none\n"
        "cost: comparisons are counted by no one",
    .compose_all = compose,
};

}  // namespace dyadic::inline v1::ops
