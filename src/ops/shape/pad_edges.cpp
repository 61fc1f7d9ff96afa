#include <algorithm>
#include <cstring>
#include <vector>

#include "corridor/batching.h"
#include "loops/strided_copy_kernel.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::pad_edges_op {
namespace {

// One padded dimension: `count` entries of the result from `to` on are those from `from` on, `step` apart.
struct Edge {
  int64_t to, count, from, step;
};
// Of a dimension of n entries, of which the result holds them from `before` on.
void edges(std::string_view mode, int64_t n, int64_t before, int64_t after, Edge (&out)[2]) {
  const int64_t end = before + n;
  if (mode == "reflect") {
    out[0] = {0, before, 2 * before, -1};
    out[1] = {end, after, end - 2, -1};
  } else if (mode == "circular") {
    out[0] = {0, before, n, 1};
    out[1] = {end, after, before, 1};
  } else {
    out[0] = {0, before, before, 0};
    out[1] = {end, after, end - 1, 0};
  }
}

void infer(Call& c) {
  infer_like_first(c);
  const Tensor& t = c[arg::self];
  const IntList pad = c[arg::pad];
  const std::string_view mode = c[arg::mode];
  DY_CHECK_AS(ValueError, mode == "reflect" || mode == "replicate" || mode == "circular",
              "pad: unknown mode \"{}\"; the known ones are constant, reflect, replicate, circular", mode);
  DY_CHECK(pad.size() % 2 == 0 && int64_t(pad.size()) <= 2 * t.dim(),
           "pad: pad has two numbers per dimension, the last dimension first: self is {}, pad is {}", describe(t),
           shape_text(pad));
  for (size_t k = 0; k < pad.size(); k += 2) {
    const int64_t dim = t.dim() - 1 - int64_t(k / 2), n = t.size(dim), most = std::max(pad[k], pad[k + 1]);
    const bool fits = mode == "replicate" ? n > 0 : mode == "reflect" ? most < n : most <= n;
    DY_CHECK(fits && std::min(pad[k], pad[k + 1]) >= 0, "pad: too much for mode {}: pad is {}, dimension {} of {} is {}", mode,
             shape_text(pad), dim, describe(t), n);
    c.spec[0].sizes[dim] += pad[k] + pad[k + 1];
  }
}
struct Parameters {
  Operand x, out;
  const char* mode;            // reflect, replicate or circular
  int64_t pad[kMaxDims][2]{};  // before and after, by dimension
  int64_t before(int d) const { return pad[d][0]; }
  int64_t after(int d) const { return pad[d][1]; }
};
// A row of n elements of W bytes with both edges.
template <int64_t W> void pad_row(const char* from, char* to, int64_t n, int64_t before, const Edge (&both)[2]) {
  std::memcpy(to + before * W, from, size_t(n * W));
  for (const Edge& e : both)
    for (int64_t k = 0; k < e.count; ++k) std::memcpy(to + (e.to + k) * W, to + (e.from + k * e.step) * W, W);
}
// The rows of one entry, n dimensions from `lead` on: into their places, with the edges of the last dimension. `to`: the first
// row's.
void pad_rows(const Parameters& p, int lead, const char* from, char* to) {
  const Operand &x = p.x, &o = p.out;
  const int last = o.ndim - 1;
  const int64_t width = o.itemsize(), before = p.before(last);
  Edge both[2];
  edges(p.mode, x.lengths[last], before, p.after(last), both);
  const auto row = width == 1   ? pad_row<1>
                   : width == 2 ? pad_row<2>
                   : width == 4 ? pad_row<4>
                   : width == 8 ? pad_row<8>
                                : pad_row<16>;
  int64_t at[kMaxDims] = {};
  for (;;) {
    row(from, to, x.lengths[last], before, both);
    int d = last - 1;
    for (; d >= lead; --d) {
      from += x.steps[d] * width, to += o.steps[d] * width;
      if (++at[d] < x.lengths[d]) break;
      from -= at[d] * x.steps[d] * width, to -= at[d] * o.steps[d] * width;
      at[d] = 0;
    }
    if (d < lead) return;
  }
}
// One entry of the dimensions before `lead`: what is there, then the edges, those of the last dimension first: each further one
// repeats what is padded already.
void pad_entry(const Parameters& p, int lead, const char* from, char* to) {
  const Operand &x = p.x, &o = p.out;
  const int n = o.ndim - lead;
  const int64_t width = o.itemsize(), *steps = o.steps + lead;
  int64_t sizes[kMaxDims], strides[kMaxDims];
  for (int d = 0; d < n; ++d) {
    sizes[d] = x.lengths[lead + d];
    strides[d] = steps[d];
    to += p.before(lead + d) * steps[d] * width;
  }
  const bool rows = n > 0 && x.steps[o.ndim - 1] == 1 && x.numel() > 0;
  if (rows)
    pad_rows(p, lead, from, to - p.before(o.ndim - 1) * width);
  else
    strided_copy_kernel().copy(to, steps, from, x.steps + lead, sizes, n, width);
  for (int d = n - 1; d >= 0; --d) {
    const int64_t before = p.before(lead + d), after = p.after(lead + d);
    const int64_t step = steps[d] * width;
    to -= before * step;
    Edge both[2];
    sizes[d] = o.lengths[lead + d];
    if (d == n - 1 && rows) continue;
    edges(p.mode, x.lengths[lead + d], before, after, both);
    for (const Edge& e : both) {
      sizes[d] = e.count;
      strides[d] = e.step * steps[d];
      strided_copy_kernel().copy(to + e.to * step, steps, to + e.from * step, strides, sizes, n, width);
    }
    sizes[d] = o.lengths[lead + d];
    strides[d] = steps[d];
  }
}
// Small entries (images) are padded one after the other, while they lie in the cache: in one pass over memory.
void run(const Parameters& p, const Pointers& at) {
  constexpr int64_t kLarge = 1 << 20, kGrain = 128 << 10;  // bytes
  const Operand &x = p.x, &o = p.out;
  int lead = 0;
  int64_t count = 1, bytes = o.itemsize();
  while (lead < o.ndim && o.lengths[lead] == x.lengths[lead]) count *= x.lengths[lead++];
  for (int d = lead; d < o.ndim; ++d) bytes *= o.lengths[d];
  auto entries = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const char* from = static_cast<char*>(at.in[0]);
      int64_t rest = i;
      for (int d = lead - 1; d >= 0; --d) {
        from += rest % x.lengths[d] * x.steps[d] * o.itemsize();
        rest /= x.lengths[d];
      }
      pad_entry(p, lead, from, static_cast<char*>(at.out[0]) + i * bytes);
    }
  };
  if (bytes == 0) return;
  if (bytes < kLarge)
    parallel_for(count, std::max<int64_t>(1, kGrain / bytes), entries);
  else
    entries(0, count);
}
void plan(Call& c) {
  const IntList pad = c[arg::pad];
  const std::string_view mode = c[arg::mode];
  Parameters p{c.operand(arg::self), c.result(), mode == "reflect" ? "reflect" : mode == "circular" ? "circular" : "replicate"};
  for (size_t k = 0; k < pad.size(); ++k) p.pad[p.x.ndim - 1 - int(k / 2)][k % 2] = pad[k];
  c.plan.set<run>(p);
}
// The padding's gradients join those of the entries it repeats, the dimension that was padded last first.
void backward(Grad& g) {
  const IntList pad = g[arg::pad];
  const std::string_view mode = g[arg::mode];
  Tensor t = g.g();
  for (size_t k = pad.size(); k > 0; k -= 2) {
    const int64_t before = pad[k - 2], after = pad[k - 1], dim = t.dim() - int64_t(k / 2), n = t.size(dim) - before - after;
    Edge both[2];
    edges(mode, n, before, after, both);
    Tensor inside = narrow(t, dim, before, n);
    for (const Edge& e : both) {
      if (e.count == 0) continue;
      Tensor part = narrow(t, dim, e.to, e.count);
      if (e.step < 0) part = flip(part, {dim});
      if (e.step == 0) part = sum(part, {dim}, true);
      const int64_t at = (e.step < 0 ? e.from - e.count + 1 : e.from) - before, count = part.size(dim);
      inside = slice_scatter(inside, add(narrow(inside, dim, at, count), part), dim, at, at + count);
    }
    t = inside;
  }
  g.set(arg::self, t);
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "pad_edges(Tensor self, int[] pad, str mode) -> Tensor",
    .doc = "pad in mode reflect, replicate or circular, by numbers of at least 0.",
    .internal = true,
    .samples =
        "pad_edges(randn(1, 2, 4), [2, 1], 'reflect')\n"
        "pad_edges(randn(2, 3, 4), [3, 2, 1, 2], 'reflect')\n"
        "pad_edges(randn(1, 2, 3), [2, 3, 1, 1], 'replicate')\n"
        "pad_edges(randn(2, 2, 3), [3, 1, 0, 2], 'circular')",
    .bad =
        "pad_edges(zeros(2, 3), [1, -1], 'reflect') => pad: too much for mode reflect: pad is [1, -1], dimension 1 of f32[2, "
        "3] is 3",
    .infer = infer,
    .backward = backward,
};
extern constexpr Kernel cpu = {.plan = plan};
extern constexpr Batching batching = kLeading();

}  // namespace dyadic::inline v1::ops::pad_edges_op
