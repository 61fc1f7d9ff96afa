// Convolutions in one to three dimensions as products whose right operand, the matrix of patches, is never built: an element of
// it is found where a place of the result and a tap of the kernel meet. The gradient for the input is such a product for each
// residue of a position modulo the stride; that for the weight has places as its k.
#include <numeric>

#include "loops/conv.h"
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/products/gemm.h"
#include "plugins/cuda/products/patches.h"

namespace dyadic::gpu {
namespace {

struct ConvPlan {
  ConvShape shape;
  Code x, w, bias, y;  // y: of the op's gradient or result of the larger channels, as the names of ConvShape say
  ProductShape product;
  bool halves, doubles;  // on tensor cores; in f64
};

Grid3 forward_grid(const ConvShape& s) {
  Grid3 g;
  for (int d = 0; d < 3; ++d)
    g.axis[d] = {.count = int(s.out[d]),
                 .taps = int(s.kernel[d]),
                 .size = int(s.in[d]),
                 .step = int(s.stride[d]),
                 .first = -int(s.low[d]),
                 .slope = int(s.dilation[d]),
                 .out_size = int(s.out[d])};
  g.finish();
  return g;
}
// Input positions residue, residue + stride, ...: output position y and tap t meet position y * stride - low + t * dilation, so
// those taps count that make it a whole y; they lie stride / gcd apart.
Axis input_axis(const ConvShape& s, int d, int64_t residue) {
  const int64_t stride = s.stride[d], gap = s.dilation[d], common = std::gcd(stride, gap), apart = stride / common;
  Axis a{.count = residue < s.in[d] ? int((s.in[d] - residue + stride - 1) / stride) : 0,
         .taps = 0,
         .size = int(s.out[d]),
         .slope = -int(gap / common),
         .out_first = int(residue),
         .out_step = int(stride),
         .out_size = int(s.in[d]),
         .tap_step = int(apart)};
  for (int64_t t = 0; t < std::min(apart, s.kernel[d]); ++t) {
    const int64_t over = residue + s.low[d] - t * gap;
    if (over % stride) continue;
    a.taps = int((s.kernel[d] - 1 - t) / apart + 1), a.first = int(over / stride), a.tap = int(t);
    break;
  }
  return a;
}

void split3(int64_t i, const int64_t (&size)[3], int64_t (&at)[3]) {
  for (int d = 2; d >= 0; --d) at[d] = i % size[d], i /= size[d];
}
ProductShape product_shape(int64_t groups, int64_t m, int64_t n, int64_t k) {
  ProductShape s{};
  s.m = m, s.n = n, s.k = s.depth = k, s.batch = groups;
  return s;
}
int64_t spatial(const int64_t (&size)[3]) { return size[0] * size[1] * size[2]; }

// The product of sides that `make` gives, made for a reader of their elements.
template <class T, class A, class B, class C>
void run_tiles(const ProductShape& s, const A& a, const B& b, const C& c, void* workspace) {
  launch(tile_product<T, 1, A, B, C>, tile_grid(s, 64, 64, 256), a, b, c, static_cast<T*>(workspace), s);
  finish_parts<T>(s, c, workspace);
}
template <class H, class A, class B, class C>
void run_mma(const ProductShape& s, const A& a, const B& b, const C& c, void* workspace) {
  launch(mma_product<H, SmallTile, Gathered16<A>, Gathered16<B>, C>,
         tile_grid(s, SmallTile::kRows, SmallTile::kColumns, SmallTile::kThreads), Gathered16<A>{a, a.along_k},
         Gathered16<B>{b, b.along_k}, c, static_cast<float*>(workspace), s);
  finish_parts<float>(s, c, workspace);
}
// a and b: from memory and format, sides for a reader; c: the result for a type of sums.
template <class A, class B, class C>
void run_product(const ConvPlan& p, const ProductShape& s, const void* a, Code a_code, const void* b, Code b_code,
                 void* workspace, A make_a, B make_b, C make_c) {
  if (p.halves) {
    const Read16 x{static_cast<const uint16_t*>(a)}, y{static_cast<const uint16_t*>(b)};
    if (a_code == Code::bf16) return run_mma<Bf16>(s, make_a(x), make_b(y), make_c(float{}), workspace);
    return run_mma<F16>(s, make_a(x), make_b(y), make_c(float{}), workspace);
  }
  const auto as = [&]<class T>(T) {
    run_tiles<T>(s, make_a(Read<T>{a, a_code}), make_b(Read<T>{b, b_code}), make_c(T{}), workspace);
  };
  p.doubles ? as(double{}) : as(float{});
}

// y = x * w: rows are filters.
void run_forward(const ConvPlan& p, const Pointers& at) {
  const ConvShape& s = p.shape;
  const int64_t in = spatial(s.in), out = spatial(s.out), k = p.product.k;
  const Grid3 grid = forward_grid(s);
  run_product(
      p, p.product, at.in[1], p.w, at.in[0], p.x, at.workspace,
      [&]<class R>(R r) { return Images<R>{r, true, Divisor(k), k, 0, s.filters * k}; },
      [&]<class R>(R r) { return Patches<R, false>{r, false, grid, in, s.groups * s.channels * in, s.channels * in}; },
      [&]<class T>(T) {
        return Places<T>{
            at.out[0], p.y, grid, out, s.groups * s.filters * out, s.filters, p.bias == Code::none ? nullptr : at.in[2],
            p.bias,    0};
      });
}

// x = y * w turned: rows are channels.
void run_input(const ConvPlan& p, const Pointers& at) {
  const ConvShape& s = p.shape;
  const int64_t in = spatial(s.in), out = spatial(s.out), taps = s.taps(), residues = spatial(s.stride);
  for (int64_t residue = 0; residue < residues; ++residue) {
    Grid3 grid;
    int64_t of[3];
    split3(residue, s.stride, of);
    for (int d = 0; d < 3; ++d) grid.axis[d] = input_axis(s, d, of[d]);
    grid.finish();
    const ProductShape product = product_shape(s.groups, s.channels, s.batch * grid.places(), s.filters * grid.taps());
    if (product.m * product.n * product.batch == 0) continue;
    run_product(
        p, product, at.in[1], p.w, at.in[0], p.y, at.workspace,
        [&]<class R>(R r) {
          return Taps<R>{r,
                         true,
                         grid,
                         {int(s.kernel[0]), int(s.kernel[1]), int(s.kernel[2])},
                         taps,
                         s.channels * taps,
                         s.filters * s.channels * taps};
        },
        [&]<class R>(R r) { return Patches<R, false>{r, false, grid, out, s.groups * s.filters * out, s.filters * out}; },
        [&]<class T>(T) {
          return Places<T>{
              at.out[0], p.x, grid, in, s.groups * s.channels * in, s.channels, p.bias == Code::none ? nullptr : at.in[2],
              p.bias,    0};
        });
  }
}

// w: rows are filters, columns channels and taps, and k all places of all images.
void run_weight(const ConvPlan& p, const Pointers& at) {
  const ConvShape& s = p.shape;
  const int64_t in = spatial(s.in), out = spatial(s.out), columns = p.product.n;
  const Grid3 grid = forward_grid(s);
  run_product(
      p, p.product, at.in[1], p.y, at.in[0], p.x, at.workspace,
      [&]<class R>(R r) { return Images<R>{r, true, Divisor(out), out, s.groups * s.filters * out, s.filters * out}; },
      [&]<class R>(R r) { return Patches<R, true>{r, true, grid, in, s.groups * s.channels * in, s.channels * in}; },
      [&]<class T>(T) {
        Result<T> r{at.out[0], p.w, columns, 1, {}, nullptr, Code::none, Code::none, 1, false};
        r.entries[0] = s.filters * columns;
        return r;
      });
}

struct Geometry3 {
  IntList stride, padding, dilation;
  int64_t groups;
};
int64_t spread(IntList values, int64_t rank, int64_t d) { return values.size() == 1 ? values[0] : values[size_t(d % rank)]; }

// Shapes have been checked by the op's rule. `x` and `y` are the sizes of the two sides, N and channels first.
ConvShape conv_shape(IntList x, IntList y, IntList kernel, const Geometry3& g) {
  ConvShape s;
  const auto rank = int64_t(kernel.size());
  s.batch = x[0], s.groups = g.groups, s.channels = x[1] / g.groups, s.filters = y[1] / g.groups;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t at = 3 - rank + d;
    s.in[at] = x[size_t(2 + d)], s.out[at] = y[size_t(2 + d)], s.kernel[at] = kernel[size_t(d)];
    s.stride[at] = spread(g.stride, rank, d), s.dilation[at] = spread(g.dilation, rank, d),
    s.low[at] = spread(g.padding, rank, d);
  }
  return s;
}
void finish_plan(Call& c, ConvPlan& p, Code a, Code b) {
  p.doubles = a == Code::f64 || b == Code::f64;
  p.halves = a == b && (a == Code::bf16 || a == Code::f16);
  const ProductShape& s = p.product;
  const int64_t tiles = s.m && s.n ? (s.m + 63) / 64 * ((s.n + 63) / 64) * s.batch : 0;
  c.plan.workspace = cut_parts(p.product, tiles, 256, p.doubles ? 8 : 4);
}

void plan_forward(Call& c) {
  namespace arg = ops::convolution_op::arg;
  ConvPlan& p = c.plan.make<run_forward, ConvPlan>();
  const Operand x = c.operand(arg::input), w = c.operand(arg::weight), y = c.result();
  p = ConvPlan{};
  p.shape = conv_shape(x.sizes(), y.sizes(), {w.lengths + 2, size_t(w.ndim - 2)},
                       {c[arg::stride], c[arg::padding], c[arg::dilation], c[arg::groups]});
  p.x = code_of(x.format), p.w = code_of(w.format), p.bias = code_of(c.operand(arg::bias).format), p.y = code_of(y.format);
  const ConvShape& s = p.shape;
  p.product = product_shape(s.groups, s.filters, s.batch * spatial(s.out), s.channels * s.taps());
  finish_plan(c, p, p.x, p.w);
}
void plan_input(Call& c) {
  namespace arg = ops::convolution_transpose_op::arg;
  ConvPlan& p = c.plan.make<run_input, ConvPlan>();
  const Operand y = c.operand(arg::input), w = c.operand(arg::weight), x = c.result();
  p = ConvPlan{};
  p.shape = conv_shape(x.sizes(), y.sizes(), {w.lengths + 2, size_t(w.ndim - 2)},
                       {c[arg::stride], c[arg::padding], c[arg::dilation], c[arg::groups]});
  p.y = code_of(y.format), p.w = code_of(w.format), p.bias = code_of(c.operand(arg::bias).format), p.x = code_of(x.format);
  finish_plan(c, p, p.y, p.w);
}
void plan_weight(Call& c) {
  namespace arg = ops::convolution_weight_op::arg;
  ConvPlan& p = c.plan.make<run_weight, ConvPlan>();
  const Operand x = c.operand(arg::input), y = c.operand(arg::grad), w = c.result();
  p = ConvPlan{};
  p.shape = conv_shape(x.sizes(), y.sizes(), c[arg::size], {c[arg::stride], c[arg::padding], c[arg::dilation], c[arg::groups]});
  p.x = code_of(x.format), p.y = code_of(y.format), p.w = code_of(w.format);
  const ConvShape& s = p.shape;
  p.product = product_shape(s.groups, s.filters, s.channels * s.taps(), s.batch * spatial(s.out));
  p.product.dims = 1, p.product.sizes[0] = s.groups;
  finish_plan(c, p, p.x, p.y);
}
const Registered convolution{"convolution", {.plan = plan_forward, .dense = true}};
const Registered convolution_transpose{"convolution_transpose", {.plan = plan_input, .dense = true}};
const Registered convolution_weight{"convolution_weight", {.plan = plan_weight, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
