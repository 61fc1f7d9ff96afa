// Sums, products, means, any and all; the table of all reductions. max, min and their indices are in
// reduce_extrema_kernel.cpp.
#include "ops/reduce/reduce_kernel.h"

#include "ops/reduce/reduce_loops.h"

namespace dyadic::DY_ISA {
namespace {

template <class T> using WideSum = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;

DY_INLINE double plus(double a, double b) { return a + b; }
DY_INLINE int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
DY_INLINE double times(double a, double b) { return a * b; }
DY_INLINE int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

// An `op` of reduce_loops.h that takes elements as they are and leaves results as they are.
template <class T, class W> struct Plain {
  using Lane = T;
  using Wide = W;
  template <class D, class V> DY_INLINE V map(D, V v) const { return v; }
  void finish(W*, int64_t) const {}
};

template <class T> struct Sum : Plain<T, WideSum<T>> {
  double divisor = 1;  // floats only: the mean's

  DY_INLINE T identity() const { return 0; }
  template <class D, class V> DY_INLINE V merge(D, V a, V b) const { return hn::Add(a, b); }
  DY_INLINE WideSum<T> merge(WideSum<T> a, WideSum<T> b) const { return plus(a, b); }
  void finish(WideSum<T>* values, int64_t n) const {
    if constexpr (std::is_floating_point_v<T>) {
      if (divisor == 1) return;
      for (int64_t i = 0; i < n; i++) values[i] /= divisor;
    }
  }
};

template <class T> struct SumSquares : Sum<T> {
  template <class D, class V> DY_INLINE V map(D, V v) const { return hn::Mul(v, v); }
};

template <class T> struct SumAbs : Sum<T> {
  template <class D, class V> DY_INLINE V map(D, V v) const { return hn::Abs(v); }
};

template <class T> struct NanSum : Sum<T> {
  template <class D, class V> DY_INLINE V map(D, V v) const { return hn::IfThenZeroElse(hn::IsNaN(v), v); }
};

// One for each element that is not NaN.
template <class T> struct Numbers : Sum<T> {
  template <class D, class V> DY_INLINE V map(D d, V v) const { return hn::IfThenZeroElse(hn::IsNaN(v), hn::Set(d, T(1))); }
};

template <class T> struct Product : Plain<T, WideSum<T>> {
  DY_INLINE T identity() const { return 1; }
  template <class D, class V> DY_INLINE V merge(D, V a, V b) const { return hn::Mul(a, b); }
  DY_INLINE WideSum<T> merge(WideSum<T> a, WideSum<T> b) const { return times(a, b); }
};

// any: is there a true element; all: is there no false one. Found or not is 1 or 0 in lanes of the element's type. (Highway's
// Ne is false for NaN on AVX2 and AVX-512, true on SSE4: compare with Eq.)
template <class T> struct Truth : Plain<T, int32_t> {
  bool all;

  explicit Truth(bool is_all) : all(is_all) {}
  DY_INLINE T identity() const { return 0; }
  template <class D, class V> DY_INLINE V map(D d, V v) const {
    return hn::IfThenElse(hn::Eq(v, hn::Zero(d)), hn::Set(d, T(all ? 1 : 0)), hn::Set(d, T(all ? 0 : 1)));
  }
  template <class D, class V> DY_INLINE V merge(D, V a, V b) const { return hn::Max(a, b); }
  DY_INLINE int32_t merge(int32_t a, int32_t b) const { return a | b; }
  void finish(int32_t* values, int64_t n) const {
    for (int64_t i = 0; i < n; i++) values[i] = (values[i] != 0) != all;
  }
};

template <class T> void reduce_floats(ReduceOp op, const ReduceShape& shape, Source x, Target y, void* workspace) {
  Sum<T> sum;
  switch (op) {
    case ReduceOp::mean:
      sum.divisor = static_cast<double>(shape.n * shape.pieces);
      [[fallthrough]];
    case ReduceOp::sum:
      return reduce_with(sum, shape, x, y, workspace);
    case ReduceOp::sum_squares:
      return reduce_with(SumSquares<T>(), shape, x, y, workspace);
    case ReduceOp::sum_abs:
      return reduce_with(SumAbs<T>(), shape, x, y, workspace);
    case ReduceOp::nan_sum:
      return reduce_with(NanSum<T>(), shape, x, y, workspace);
    case ReduceOp::numbers:
      return reduce_with(Numbers<T>(), shape, x, y, workspace);
    case ReduceOp::prod:
      return reduce_with(Product<T>(), shape, x, y, workspace);
    default:
      return reduce_with(Truth<T>(op == ReduceOp::all), shape, x, y, workspace);
  }
}

// Sums and products of integers are taken in i64; sums of i16 and narrower in i32 within blocks of 4096, where they cannot
// wrap.
void reduce_integers(ReduceOp op, const ReduceShape& shape, Source x, Target y, void* workspace) {
  switch (op) {
    case ReduceOp::sum:
      if (x.format->def->bits <= 16) return reduce_with(Sum<int32_t>(), shape, x, y, workspace);
      return reduce_with(Sum<int64_t>(), shape, x, y, workspace);
    case ReduceOp::prod:
      return reduce_with(Product<int64_t>(), shape, x, y, workspace);
    default:
      if (x.format->def->compute != Compute::i32)
        return reduce_with(Truth<int64_t>(op == ReduceOp::all), shape, x, y, workspace);
      return reduce_with(Truth<int32_t>(op == ReduceOp::all), shape, x, y, workspace);
  }
}

bool is_extremum(ReduceOp op) { return op >= ReduceOp::max; }

int64_t workspace(ReduceOp op, const ReduceShape& shape, const Format& x) {
  if (shape.inner == 1) return 0;
  if (is_extremum(op)) return extrema_workspace(op, shape, x);
  if (op == ReduceOp::logsumexp) return logsumexp_workspace(shape, x);
  if (op == ReduceOp::moments) return moments_workspace(shape, x);
  const bool truth = op == ReduceOp::any || op == ReduceOp::all;
  const bool small = x.def->kind != Kind::floating && x.def->bits <= 16 && op == ReduceOp::sum;
  int64_t lane = compute_size(x.def->compute);
  if (x.def->kind != Kind::floating && !truth && !small) lane = 8;
  const ColumnPlan plan = plan_columns(shape, lane);
  return plan.chunks == 1 ? 0 : shape.outer * plan.chunks * shape.inner * (truth ? 4 : 8);
}

void run(ReduceOp op, const ReduceShape& shape, Source x, Target y, Target high, void* scratch) {
  if (is_extremum(op)) {
    reduce_extrema(op, shape, x, y, high, scratch);
  } else if (op == ReduceOp::logsumexp) {
    reduce_logsumexp(shape, x, y, scratch);
  } else if (op == ReduceOp::moments) {
    reduce_moments(shape, x, y, high, scratch);
  } else if (x.format->def->compute == Compute::f32) {
    reduce_floats<float>(op, shape, x, y, scratch);
  } else if (x.format->def->compute == Compute::f64) {
    reduce_floats<double>(op, shape, x, y, scratch);
  } else {
    reduce_integers(op, shape, x, y, scratch);
  }
}

template <class Op> void sum_blocks(const Op& op, Source source, int64_t n, double* sums) {
  const Tiles<typename Op::Lane> x(source);
  for (int64_t i = 0; i < n; i += kSumBlock) *sums++ = reduce_chunk(op, x, i, min_of(kSumBlock, n - i));
}
template <class T> void sum_blocks_of(ReduceOp op, Source x, int64_t n, double* sums) {
  switch (op) {
    case ReduceOp::sum_squares:
      return sum_blocks(SumSquares<T>(), x, n, sums);
    case ReduceOp::sum_abs:
      return sum_blocks(SumAbs<T>(), x, n, sums);
    case ReduceOp::nan_sum:
      return sum_blocks(NanSum<T>(), x, n, sums);
    case ReduceOp::numbers:
      return sum_blocks(Numbers<T>(), x, n, sums);
    default:
      return sum_blocks(Sum<T>(), x, n, sums);
  }
}
void blocks(ReduceOp op, Source x, int64_t n, double* sums) {
  x.format->def->compute == Compute::f64 ? sum_blocks_of<double>(op, x, n, sums) : sum_blocks_of<float>(op, x, n, sums);
}
// In the order of reduce_rows().
double total(ReduceOp op, int64_t n, const double* sums) {
  const int64_t all = (n + kSumBlock - 1) / kSumBlock, each = row_chunk(n) / kSumBlock;
  double value = 0;
  for (int64_t first = 0; first < all; first += each) {
    double chunk = 0;
    for (int64_t b = first; b < min_of(all, first + each); b++) chunk = plus(chunk, sums[b]);
    value = first ? plus(value, chunk) : chunk;
  }
  return op == ReduceOp::mean ? value / static_cast<double>(n) : value;
}

}  // namespace

extern const ReduceKernel reduce_kernel = {workspace, run, blocks, total};

}  // namespace dyadic::DY_ISA
