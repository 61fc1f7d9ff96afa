// Normalization of images [batch, channels, inner] with statistics shared by channels: batch norm and group norm. What is
// summed is summed over pieces of segments (the neighbouring elements of one channel of one sample), and pieces are merged in
// their order.
#include "plugins/cuda/kernel.h"
#include "plugins/cuda/rows/collectives.h"
#include "plugins/cuda/rows/usual.h"

namespace dyadic::gpu {
namespace {

// A class is what shares a mean: a channel throughout the batch (groups 0), or one of so many groups of a sample's channels.
struct Shape {
  int64_t batch, channels, inner, groups;
  double eps;
  Code weight, bias;                     // none: there is none
  bool aligned = false, eights = false;  // eights: segments are whole chunks
  int64_t piece, pieces;                 // elements of one, and how many a segment has

  DY_DEVICE int64_t classes() const { return groups ? batch * groups : channels; }
  DY_DEVICE int64_t segments() const { return groups ? channels / groups : batch; }  // of a class
  DY_DEVICE int64_t count() const { return segments() * inner; }
  DY_DEVICE int64_t segment(int64_t k, int64_t j) const { return groups ? k * segments() + j : j * channels + k; }
  DY_DEVICE int64_t class_of(int64_t segment) const { return groups ? segment / segments() : segment % channels; }
};
constexpr int kThreads = 256;
constexpr int64_t kPiece = 16384;

// f(row held, its number of elements, the piece's first element) of each piece's parts; `done` when a piece is through.
template <class E, int kGroup, class F, class D> __device__ __forceinline__ void for_pieces(const Shape& p, F f, D done) {
  constexpr int kRows = kThreads / kGroup;
  const int64_t all = p.batch * p.channels * p.pieces;
  for (int64_t first = int64_t(blockIdx.x) * kRows; first < all; first += int64_t(gridDim.x) * kRows) {
    const int64_t i = first + threadIdx.x / kGroup, segment = i / p.pieces, at = i % p.pieces * p.piece;
    const int64_t left = p.inner - at, n = i >= all ? 0 : left < p.piece ? left : p.piece;
    for_spans<WideRow<E, kGroup, 1>>(segment * p.inner + at, p.piece, [&](Span span) {
      const int64_t behind = span.first - segment * p.inner - at;  // of pieces that are shorter, or not there
      if (span.n > n - behind) span.n = n > behind ? int(n - behind) : 0;
      f(segment, span);
    });
    done(i, i < all);
  }
}

template <class E, int kGroup> __global__ void __launch_bounds__(kThreads) piece_moments(const void* x, Moments* out, Shape p) {
  using T = typename E::Value;
  using Row = WideRow<E, kGroup, 1>;
  __shared__ Moments room[kGroupRoom<kGroup>];
  const int t = int(threadIdx.x) % kGroup;
  Moments all;
  for_pieces<E, kGroup>(
      p,
      [&](int64_t, const Span& span) {
        Row row;
        row.load(x, span, t, p.aligned, T(0));
        const int count = Row::fold([&](int k, int j) { return int(Row::has(span, t, k, j)); }, Plus());
        const T middle = count ? Row::fold([&](int k, int j) { return row.v[k][j]; }, Plus()) / T(count) : T(0);
        auto apart = [&](int k, int j) { return Row::has(span, t, k, j) ? row.v[k][j] - middle : T(0); };
        const T sum = Row::fold(apart, Plus()),
                squares = Row::fold([&](int k, int j) { return apart(k, j) * apart(k, j); }, Plus());
        all = MergeMoments()(all, moments_about(double(middle), double(sum), double(squares), double(count)));
      },
      [&](int64_t i, bool is_one) {
        all = group_all<kGroup>(all, room, MergeMoments());
        if (t == 0 && is_one) out[i] = all;
        all = {};
      });
}

// What a warp merges of a class's pieces: lane after lane, then the lanes.
template <class A, class F, class M> __device__ __forceinline__ A merge_class(const Shape& p, int64_t k, F of, M merge) {
  A all{};
  for (int64_t i = threadIdx.x % kWarp; i < p.segments() * p.pieces && k < p.classes(); i += kWarp) {
    const int64_t segment = p.segment(k, i / p.pieces);
    all = merge(all, of(segment, segment * p.pieces + i % p.pieces));
  }
  return warp_all<kWarp>(all, merge);
}
template <class T> __global__ void __launch_bounds__(kThreads) class_moments(const Moments* pieces, T* mean, T* rstd, Shape p) {
  constexpr int kWarps = kThreads / kWarp;
  for (int64_t first = int64_t(blockIdx.x) * kWarps; first < p.classes(); first += int64_t(gridDim.x) * kWarps) {
    const int64_t k = first + threadIdx.x / kWarp;
    const Moments m = merge_class<Moments>(p, k, [&](int64_t, int64_t piece) { return pieces[piece]; }, MergeMoments());
    if (threadIdx.x % kWarp || k >= p.classes()) continue;
    const double n = double(p.count());
    mean[k] = T(m.n == 0 ? m.mean / m.n : m.mean);
    rstd[k] = T(1 / sqrt(m.squares / n + p.eps));
  }
}

// f(segment, elements, how many there are) of eight neighbours in one segment; where segments are not made of eights, of single
// ones.
template <class E, class F> __device__ __forceinline__ void for_elements(const Shape& p, Divisor inner, F f) {
  const int64_t each = p.eights ? kChunk : 1, all = p.batch * p.channels * p.inner;
  const bool wide = all >= int64_t(1) << 31;
  for (int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) * each; i < all; i += int64_t(gridDim.x) * kThreads * each)
    f(wide ? i / inner.by : int64_t(inner.quotient(uint32_t(i))), i);
}
// Elements from i on that for_elements() hands over at once.
template <class E, class T>
__device__ __forceinline__ void load_eight(const void* at, int64_t i, const Shape& p, T (&v)[kChunk]) {
  if (p.eights && p.aligned) return load_run<E>(at, i, v);
  DY_UNROLL
  for (int j = 0; j < kChunk; ++j)
    v[j] = j == 0 || p.eights ? T(E::value(static_cast<const typename E::Stored*>(at)[i + j])) : T(0);
}
template <class E, class T>
__device__ __forceinline__ void store_eight(void* at, int64_t i, const Shape& p, const T (&v)[kChunk]) {
  if (p.eights && p.aligned) return store_run<E>(at, i, v);
  DY_UNROLL
  for (int j = 0; j < kChunk; ++j)
    if (j == 0 || p.eights) static_cast<typename E::Stored*>(at)[i + j] = E::stored(v[j]);
}
template <class T> __device__ __forceinline__ T parameter(Code code, const void* at, int64_t channel, T none) {
  return code == Code::none ? none : load<T>(code, at, channel);
}

template <class E>
__global__ void __launch_bounds__(kThreads) apply(const void* x, const void* weight, const void* bias, void* y,
                                                  const void* mean, const void* rstd, Divisor inner, Shape p) {
  using T = typename E::Value;
  for_elements<E>(p, inner, [&](int64_t segment, int64_t i) {
    const int64_t k = p.class_of(segment), channel = segment % p.channels;
    const T scale = static_cast<const T*>(rstd)[k] * parameter<T>(p.weight, weight, channel, T(1));
    const T shift = parameter<T>(p.bias, bias, channel, T(0)), middle = static_cast<const T*>(mean)[k];
    T v[kChunk];
    load_eight<E>(x, i, p, v);
    DY_UNROLL
    for (int j = 0; j < kChunk; ++j) v[j] = (v[j] - middle) * scale + shift;
    store_eight<E>(y, i, p, v);
  });
}

// Backward, with h = (x - mean) rstd: the sums of dy and of dy h of each piece.
using Sums = Pair<double>;
template <class E, int kGroup>
__global__ void __launch_bounds__(kThreads)
    piece_sums(const void* dy, const void* x, const void* mean, const void* rstd, Sums* out, Shape p) {
  using T = typename E::Value;
  using Row = WideRow<E, kGroup, 1>;
  __shared__ Sums room[kGroupRoom<kGroup>];
  const int t = int(threadIdx.x) % kGroup;
  Sums all{};
  for_pieces<E, kGroup>(
      p,
      [&](int64_t segment, const Span& span) {
        const int64_t k = span.n > 0 ? p.class_of(segment) : 0;
        const T middle = static_cast<const T*>(mean)[k], scale = static_cast<const T*>(rstd)[k];
        Row grad, row;
        grad.load(dy, span, t, p.aligned, T(0));
        row.load(x, span, t, p.aligned, middle);
        all.a += double(Row::fold([&](int k, int j) { return grad.v[k][j]; }, Plus()));
        all.b += double(Row::fold([&](int k, int j) { return grad.v[k][j] * ((row.v[k][j] - middle) * scale); }, Plus()));
      },
      [&](int64_t i, bool is_one) {
        all = group_all<kGroup>(all, room, PlusBoth());
        if (t == 0 && is_one) out[i] = all;
        all = {};
      });
}
// The means of g = dy weight and of g h over each class.
template <class T>
__global__ void __launch_bounds__(kThreads) class_means(const Sums* pieces, const void* weight, Pair<T>* out, Shape p) {
  constexpr int kWarps = kThreads / kWarp;
  for (int64_t first = int64_t(blockIdx.x) * kWarps; first < p.classes(); first += int64_t(gridDim.x) * kWarps) {
    const int64_t k = first + threadIdx.x / kWarp;
    auto weighted = [&](int64_t segment, int64_t piece) {
      const double w = double(parameter<T>(p.weight, weight, segment % p.channels, T(1)));
      return Sums{w * pieces[piece].a, w * pieces[piece].b};
    };
    const Sums s = merge_class<Sums>(p, k, weighted, PlusBoth());
    if (threadIdx.x % kWarp == 0 && k < p.classes()) out[k] = {T(s.a / double(p.count())), T(s.b / double(p.count()))};
  }
}
// The parameters' gradients: a channel's pieces, sample after sample.
template <class T>
__global__ void __launch_bounds__(kThreads)
    channel_sums(const Sums* pieces, void* dweight, Code dweight_code, void* dbias, Code dbias_code, Shape p) {
  constexpr int kWarps = kThreads / kWarp;
  for (int64_t first = int64_t(blockIdx.x) * kWarps; first < p.channels; first += int64_t(gridDim.x) * kWarps) {
    const int64_t channel = first + threadIdx.x / kWarp;
    Sums all{};
    for (int64_t i = threadIdx.x % kWarp; i < p.batch * p.pieces && channel < p.channels; i += kWarp)
      all = PlusBoth()(all, pieces[(i / p.pieces * p.channels + channel) * p.pieces + i % p.pieces]);
    all = warp_all<kWarp>(all, PlusBoth());
    if (threadIdx.x % kWarp || channel >= p.channels) continue;
    if (dweight) store(dweight_code, dweight, channel, T(all.b));
    if (dbias) store(dbias_code, dbias, channel, T(all.a));
  }
}
// dx = rstd (g - mean(g) - h mean(g h)).
template <class E>
__global__ void __launch_bounds__(kThreads)
    apply_backward(const void* dy, const void* x, const void* weight, const void* mean, const void* rstd, const void* means,
                   void* dx, Divisor inner, Shape p) {
  using T = typename E::Value;
  for_elements<E>(p, inner, [&](int64_t segment, int64_t i) {
    const int64_t k = p.class_of(segment);
    const T w = parameter<T>(p.weight, weight, segment % p.channels, T(1));
    const T middle = static_cast<const T*>(mean)[k], scale = static_cast<const T*>(rstd)[k];
    const Pair<T> of_class = static_cast<const Pair<T>*>(means)[k];
    T grad[kChunk], v[kChunk];
    load_eight<E>(dy, i, p, grad);
    load_eight<E>(x, i, p, v);
    DY_UNROLL
    for (int j = 0; j < kChunk; ++j) v[j] = scale * (grad[j] * w - of_class.a - (v[j] - middle) * scale * of_class.b);
    store_eight<E>(dx, i, p, v);
  });
}

// f<threads per piece>().
template <class F> void with_group(const Shape& p, F&& f) {
  if (p.piece <= 8 * kChunk) return f.template operator()<8>();
  if (p.piece <= 1024) return f.template operator()<32>();
  f.template operator()<256>();
}
Grid piece_grid(const Shape& p, int group) {
  return {.blocks = blocks_for(p.batch * p.channels * p.pieces, group, kThreads), .threads = kThreads};
}
Grid warp_grid(int64_t n) { return {.blocks = blocks_for(n, kWarp, kThreads), .threads = kThreads}; }
Grid element_grid(const Shape& p) { return grid_for(p.batch * p.channels * p.inner, p.eights ? kChunk : 1, kThreads); }

struct Forward {
  Shape shape;
  Usual x, y;
  int64_t pieces;  // in the workspace
};
void run(const Forward& p, const Pointers& at) {
  Shape s = p.shape;
  if (s.classes() == 0) return;
  const void *x = p.x.read(at.in[0], at.workspace), *weight = at.in[1], *bias = at.in[2];
  void* y = p.y.open(at.out[0], at.workspace);
  auto* pieces = static_cast<Moments*>(at_place(at.workspace, p.pieces));
  s.aligned = all_aligned(x, y), s.eights = s.inner % kChunk == 0;
  with_usual(p.x.code, [&]<class E>() {
    using T = typename E::Value;
    with_group(s, [&]<int kGroup>() { launch(piece_moments<E, kGroup>, piece_grid(s, kGroup), x, pieces, s); });
    launch(class_moments<T>, warp_grid(s.classes()), pieces, static_cast<T*>(at.out[1]), static_cast<T*>(at.out[2]), s);
    launch(apply<E>, element_grid(s), x, weight, bias, y, at.out[1], at.out[2], Divisor(s.inner), s);
  });
  p.y.close(at.out[0], at.workspace);
}
Shape shape_of(const TensorImpl& x, int64_t groups, Code weight, Code bias) {
  Shape s{x.sizes[0], x.sizes[1], x.sizes[2], groups, 0, weight, bias, false, false, 0, 0};
  s.piece = s.inner < kPiece ? s.inner : kPiece;
  s.pieces = s.piece ? (s.inner + s.piece - 1) / s.piece : 0;
  return s;
}
Code code_or_none(const Operand& o) { return o.defined() ? code_of(o.format) : Code::none; }
void plan(Call& c) {
  using namespace ops::native_channel_norm_op;
  const Operand x = c.operand(arg::input);
  const Code code = usual_code(x.format);
  Room room(c.plan);
  Forward& p = c.plan.make<run, Forward>();
  p.shape =
      shape_of(c.impl(arg::input), c[arg::groups], code_or_none(c.operand(arg::weight)), code_or_none(c.operand(arg::bias)));
  p.shape.eps = c[arg::eps];
  p.x = Usual(x, code, room), p.y = Usual(c.result(), code, room, true);
  p.pieces = room.take(p.shape.batch * p.shape.channels * p.shape.pieces * int64_t(sizeof(Moments)));
}

struct Backward {
  Shape shape;
  Usual dy, x, dx;
  Code dweight, dbias;
  int64_t pieces, means;  // in the workspace
};
void run_backward(const Backward& p, const Pointers& at) {
  Shape s = p.shape;
  if (s.channels == 0) return;
  const void *dy = p.dy.read(at.in[0], at.workspace), *x = p.x.read(at.in[1], at.workspace), *weight = at.in[2],
             *mean = at.in[3], *rstd = at.in[4];
  void* dx = p.dx.open(at.out[0], at.workspace);
  auto* pieces = static_cast<Sums*>(at_place(at.workspace, p.pieces));
  void* means = at_place(at.workspace, p.means);
  s.aligned = all_aligned(x, dy, dx), s.eights = s.inner % kChunk == 0;
  with_usual(p.x.code, [&]<class E>() {
    using T = typename E::Value;
    with_group(s, [&]<int kGroup>() { launch(piece_sums<E, kGroup>, piece_grid(s, kGroup), dy, x, mean, rstd, pieces, s); });
    launch(class_means<T>, warp_grid(s.classes()), pieces, weight, static_cast<Pair<T>*>(means), s);
    if (at.out[1] || at.out[2])
      launch(channel_sums<T>, warp_grid(s.channels), pieces, at.out[1], p.dweight, at.out[2], p.dbias, s);
    launch(apply_backward<E>, element_grid(s), dy, x, weight, mean, rstd, means, dx, Divisor(s.inner), s);
  });
  p.dx.close(at.out[0], at.workspace);
}
void plan_backward(Call& c) {
  using namespace ops::native_channel_norm_backward_op;
  const Operand dy = c.operand(arg::grad), x = c.operand(arg::input);
  const Code code = dy.format == x.format ? usual_code(x.format) : x.itemsize() == 8 ? Code::f64 : Code::f32;
  Room room(c.plan);
  Backward& p = c.plan.make<run_backward, Backward>();
  p.shape = shape_of(c.impl(arg::input), c[arg::groups], code_or_none(c.operand(arg::weight)), Code::none);
  p.dy = Usual(dy, code, room), p.x = Usual(x, code, room), p.dx = Usual(c.result(), code, room, true);
  p.dweight = c.out[1].defined() ? code_of(c.result(1).format) : Code::none;
  p.dbias = c.out[2].defined() ? code_of(c.result(2).format) : Code::none;
  p.pieces = room.take(p.shape.batch * p.shape.channels * p.shape.pieces * int64_t(sizeof(Sums)));
  p.means = room.take(p.shape.classes() * 16);
}

const Registered norm{"native_channel_norm", {.plan = plan, .dense = true}};
const Registered norm_backward{"native_channel_norm_backward", {.plan = plan_backward, .dense = true}};

}  // namespace
}  // namespace dyadic::gpu
