#include <algorithm>
#include <vector>

#include "ops/common.h"

namespace dyadic::inline v1::ops {
namespace {

// `count` entries beyond the beginning (or the end) of t's dimension.
Tensor beyond(std::string_view mode, const Tensor& t, int64_t dim, int64_t count, bool end) {
  const int64_t n = t.size(dim);
  if (mode == "circular") return narrow(t, dim, end ? 0 : n - count, count);
  if (mode == "reflect") return flip(narrow(t, dim, end ? n - 1 - count : 1, count), {dim});
  std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end());
  sizes[size_t(dim)] = count;
  return narrow(t, dim, end ? n - 1 : 0, 1).expand(sizes);
}
Tensor compose(const Arg* a) {
  const Tensor& t = *a[0].tensor;
  const IntList pad = ints_of(a[1]);
  const std::string_view mode(a[2].text, a[2].n);
  if (mode == "constant") return constant_pad_nd(t, pad, a[3].kind == Arg::Kind::none ? 0.0 : a[3].real);
  DY_CHECK_AS(ValueError, mode == "reflect" || mode == "replicate" || mode == "circular",
              "pad: unknown mode \"{}\"; the known ones are constant, reflect, replicate, circular", mode);
  DY_CHECK(a[3].kind == Arg::Kind::none || a[3].real == 0, "pad: a value is of use in mode constant only: mode is {}", mode);
  DY_CHECK(pad.size() % 2 == 0 && int64_t(pad.size()) <= 2 * t.dim(),
           "pad: pad has two numbers per dimension, the last dimension first: self is {}, pad is {}", describe(t),
           shape_text(pad));
  Tensor r = t;
  for (size_t k = 0; k < pad.size(); k += 2) {
    const int64_t dim = t.dim() - 1 - int64_t(k / 2), n = t.size(dim), before = pad[k], after = pad[k + 1],
                  most = std::max(before, after);
    const bool fits = mode == "replicate" ? n > 0 : mode == "reflect" ? most < n : most <= n;
    DY_CHECK(fits && before + n + after >= 0, "pad: too much for mode {}: pad is {}, dimension {} of {} is {}", mode,
             shape_text(pad), dim, describe(t), n);
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(beyond(mode, r, dim, before, false));
    parts.push_back(
        narrow(r, dim, std::max<int64_t>(0, -before), n + std::min<int64_t>(0, before) + std::min<int64_t>(0, after)));
    if (after > 0) parts.push_back(beyond(mode, r, dim, after, true));
    r = parts.size() > 1 ? cat(parts, dim) : parts[0];
  }
  return r;
}

}  // namespace

extern constexpr OpDef pad_op = {
    .sig = "pad(Tensor self, int[] pad, str mode='constant', float? value=None) -> Tensor",
    .doc =
        "self with pad[0] and pad[1] entries before and after its last dimension, and so on. constant: they are `value` (0); "
        "reflect: mirrored at the edge, which is not repeated; replicate: the edge; circular: the other end. Negative numbers "
        "cut off.",
    .kind = OpKind::composite,
    .samples =
        "pad(randn(2, 3), [1, 2])\n"
        "pad(randn(2, 3), [1, -1, 2, 0], 'constant', 0.5)\n"
        "pad(randn(1, 2, 4), [2, 1], 'reflect')\n"
        "pad(randn(1, 2, 3), [2, 3, 1, 1], 'replicate')\n"
        "pad(randn(1, 2, 3), [3, 1], 'circular')",
    .bad =
        "pad(zeros(2, 3), [3, 0], 'reflect') => pad: too much for mode reflect: pad is [3, 0], dimension 1 of f32[2, 3] is 3\n"
        "pad(zeros(2), [1, 1], 'mirror') => pad: unknown mode \"mirror\"; the known ones are constant, reflect, replicate, "
        "circular",
    .compose = compose,
};

}  // namespace dyadic::inline v1::ops
