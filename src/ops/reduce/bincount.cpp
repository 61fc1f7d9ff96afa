#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::bincount_op {
namespace {

// Numbers of 8 bits are counted without a look at their range before, which takes a third of the time.
Tensor count_narrow(const Tensor& t, int64_t size) {
  constexpr int64_t kNumbers = 256;
  const int64_t low = t.dtype() == u8 ? 0 : -128;
  const Tensor counts = call(Op::count_values_, t, low, kNumbers), here = counts.to(cpu);
  for (int64_t v = low; v < low + kNumbers; ++v) {
    if (here.data<int64_t>()[v - low] == 0) continue;
    DY_CHECK(v >= 0, "bincount: a number is negative: {}", v);
    size = std::max(size, v + 1);
  }
  const int64_t held = std::min(size, low + kNumbers);
  const Tensor out = zeros({size}, i64, t.device());
  narrow(out, 0, 0, held).copy_(narrow(counts, 0, -low, held));
  return out;
}
Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  DY_CHECK_AS(TypeError, t.dtype().is_integer(), "bincount: self is integers: self is {}", describe(t));
  DY_CHECK(t.dim() == 1, "bincount: needs a 1-d tensor: self is {}", describe(t));
  DY_CHECK(a[arg::minlength] >= 0, "bincount: negative minlength: minlength is {}", a[arg::minlength]);
  check_has_values("bincount", t);
  NoGrad guard;
  const bool weighted = a.has(arg::weights);
  DY_CHECK(!weighted || a[arg::weights].sizes() == t.sizes(),
           "bincount: one weight per element is needed: self is {}, weights is {}", describe(t),
           weighted ? describe(a[arg::weights]) : "");
  int64_t size = a[arg::minlength];
  if (!weighted && (t.dtype() == u8 || t.dtype() == i8)) return count_narrow(t, size);
  if (t.numel()) {
    Arg all[] = {t, IntList(), false};
    Tensor ends[2];
    call_op(Op::extremes_, all, 3, ends);
    const int64_t least = ends[0].item<int64_t>();
    DY_CHECK(least >= 0, "bincount: a number is negative: {}", least);
    size = std::max(size, ends[1].item<int64_t>() + 1);
  }
  const DType d = !weighted ? i64 : a[arg::weights].dtype() == f32 ? f32 : f64;
  if (t.numel() == 0) return zeros({size}, d, t.device());
  if (!weighted) return call(Op::count_values_, t, int64_t(0), size);
  const Tensor index = to(t, i64);
  return call(Op::index_write_, zeros({size}, d, t.device()), to(a[arg::weights], d), std::span<const Tensor>(&index, 1), Arg(),
              true);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "bincount(Tensor self, Tensor? weights=None, int minlength=0) -> Tensor",
    .doc =
        "How often each number occurs among integers that are not negative (or the sum of their weights), from 0 to the "
        "largest, at least minlength of them. The size depends on values.",
    .kind = OpKind::composite,
    .samples =
        "bincount(indices(5; 7))\n"
        "bincount(indices(3; 0))",
    .bad = "bincount(zeros(2)) => bincount: self is integers: self is f32[2]",
    .skip =
        "meta: the size depends on values\n"
        "gradcheck: it has none",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::bincount_op
