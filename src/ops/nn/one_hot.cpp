#include "ops/composite.h"
#include "ops/demand.h"
#include "tensor/batched.h"

namespace dyadic::inline v1::ops::one_hot_op {
namespace {

Tensor compose(Args a) {
  const Tensor& x = a[arg::self];
  DY_CHECK_AS(TypeError, x.dtype() == i64, "one_hot: class numbers are int64: self is {}; convert with .to(i64)", describe(x));
  int64_t classes = a[arg::num_classes];
  DY_CHECK(x.numel() > 0 || classes > 0, "one_hot: no classes: self is {}; give num_classes", describe(x));
  if (!x.is_meta() && x.numel()) {
    NoGrad guard;
    const Tensor every = classes < 0 ? x : every_entry(x);
    Arg args[] = {every, IntList(), false};
    Tensor ends[2];
    call_op(Op::extremes_, args, 3, ends);
    if (classes == -1) classes = std::max<int64_t>(ends[1].item<int64_t>(), 0) + 1;
    demand("one_hot", std::to_string(classes), ends, [classes](std::span<const Tensor> of) {
      const int64_t least = of[0].item<int64_t>(), most = of[1].item<int64_t>();
      DY_CHECK(least >= 0, "one_hot: a negative class number: {}", least);
      DY_CHECK(most < classes, "one_hot: a class number too large: {}; num_classes is {}", most, classes);
    });
  }
  DY_CHECK(classes > 0, "one_hot: num_classes is not positive: num_classes is {}", classes);
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.push_back(classes);
  return call_inplace(Op::scatter_value_, zeros(sizes, i64, x.device()), int64_t(-1), unsqueeze(x, -1), Scalar(1));
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "one_hot(Tensor self, int num_classes=-1) -> Tensor",
    .doc =
        "1 where a class number of the last new dimension is self's, else 0, in int64; as many classes as the largest number "
        "asks for unless given.",
    .kind = OpKind::composite,
    .samples =
        "one_hot(indices(4; 2, 3), 5)\n"
        "one_hot(indices(4; 6))",
    .bad = "one_hot(indices(4; 3), 2) => one_hot: a class number too large: 3; num_classes is 2",
    .skip = "meta: the number of classes may depend on values",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::one_hot_op
