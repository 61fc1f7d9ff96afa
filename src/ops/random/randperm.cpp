#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

Tensor compose(const Arg* a) {
  DY_CHECK(a[0].integer >= 0, "randperm: n is negative: {}", a[0].integer);
  const Device device = a[2].kind == Arg::Kind::device ? Device{a[2].device} : cpu;
  return to(argsort(rand({a[0].integer}, f64, device)), a[1].kind == Arg::Kind::dtype ? a[1].dtype : i64);
}

}  // namespace

extern constexpr OpDef randperm_op = {
    .sig = "randperm(int n, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
    .doc = "The integers below n in random order, int64 unless given.",
    .kind = OpKind::composite,
    .samples = "randperm(7)\nrandperm(0)\nrandperm(5, i32)",
    .bad = "randperm(-1) => randperm: n is negative: -1",
    .skip = "cost: drawing numbers counts as bytes",
    .compose = compose,
    .random = true,
};

}  // namespace dyadic::inline v1::ops
