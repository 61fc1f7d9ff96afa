#include <algorithm>
#include <vector>

#include "ops/common.h"

namespace dyadic::inline v1::ops::pad_op {
namespace {

Tensor compose(Args a) {
  const Tensor& t = a[arg::self];
  const IntList pad = ints_of(a.arg(arg::pad));
  const std::string_view mode(a.arg(arg::mode).text, a.arg(arg::mode).n);
  if (mode == "constant") return constant_pad_nd(t, pad, !a.has(arg::value) ? 0.0 : a[arg::value]);
  DY_CHECK(!a.has(arg::value) || a[arg::value] == 0, "pad: a value is of use in mode constant only: mode is {}", mode);
  std::vector<int64_t> more = pad.vec(), less = pad.vec();
  for (size_t k = 0; k < pad.size(); ++k) {
    more[k] = std::max<int64_t>(pad[k], 0);
    less[k] = std::min<int64_t>(pad[k], 0);
  }
  const bool cuts = more != pad.vec(), first = mode == "circular";  // others cut off what has been padded
  const Tensor r = call(Op::pad_edges_, cuts && first ? constant_pad_nd(t, less) : t, IntList(more), mode);
  return cuts && !first ? constant_pad_nd(r, less) : r;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "pad(Tensor self, int[] pad, str mode='constant', float? value=None) -> Tensor",
    .doc =
        "self with pad[0] and pad[1] entries before and after its last dimension, and so on. constant: they are `value` (0); "
        "reflect: mirrored at the edge, which is not repeated; replicate: the edge; circular: the other end. Negative numbers "
        "cut off, and circular begins with that.",
    .kind = OpKind::composite,
    .samples =
        "pad(randn(2, 3), [1, 2])\n"
        "pad(randn(2, 3), [1, -1, 2, 0], 'constant', 0.5)\n"
        "pad(randn(1, 2, 4), [2, 1], 'reflect')\n"
        "pad(randn(1, 2, 3), [2, 3, 1, 1], 'replicate')\n"
        "pad(randn(1, 2, 3), [3, 1], 'circular')\n"
        "pad(randn(1, 2, 3, 4), [-1, 1, 2, -1], 'circular')",
    .bad =
        "pad(zeros(2, 3), [3, 0], 'reflect') => pad: too much for mode reflect: pad is [3, 0], dimension 1 of f32[2, 3] is 3\n"
        "pad(zeros(2), [1, 1], 'mirror') => pad: unknown mode \"mirror\"; the known ones are constant, reflect, replicate, "
        "circular",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops::pad_op
