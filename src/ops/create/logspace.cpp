#include "ops/common.h"

namespace dyadic::inline v1::ops::logspace_op {
namespace {

Tensor compose(Args a) {
  const bool pairs = a[arg::start].kind() == Scalar::Kind::complex || a[arg::end].kind() == Scalar::Kind::complex;
  const DType most = pairs ? default_dtype().to_complex() : default_dtype();
  const DType wanted = a.arg(arg::dtype).kind == Arg::Kind::dtype ? a[arg::dtype] : most;
  DY_CHECK(!pairs || wanted.is_complex(), "logspace: an end is complex: dtype is {}; it may be c64 or c128", wanted.name());
  const Device device = a.arg(arg::device).kind == Arg::Kind::device ? a[arg::device] : cpu;
  return to(pow(Scalar(a[arg::base]), linspace(a[arg::start], a[arg::end], a[arg::steps], pairs ? c128 : f64, device)), wanted);
}

}  // namespace

extern constexpr OpDef record = {
    .sig =
        "logspace(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None, Device? device=None) -> "
        "Tensor",
    .doc = "steps values from base^start to base^end, both included, evenly spaced on a logarithmic scale.",
    .kind = OpKind::composite,
    .samples = "logspace(0, 2, 5)\nlogspace(-1, 1, 7, 2.0, f64)\nlogspace(0, 1, 1)\nlogspace(0, 1, 0)",
    .bad = "logspace(0, 1, -1) => logspace: linspace: the number of steps is negative: steps is -1",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::logspace_op
