#include <algorithm>
#include <cstring>

#include "corridor/batching.h"
#include "ops/common.h"

namespace dyadic::inline v1::ops::search_rows_op {
namespace {

void infer(Call& c) {
  const Tensor &sequence = c[arg::sorted_sequence], &values = c[arg::self];
  bool fits = sequence.dim() == 1 || (sequence.dim() > 0 && sequence.dim() == values.dim());
  for (int64_t d = 0; fits && sequence.dim() > 1 && d + 1 < sequence.dim(); ++d) fits = sequence.size(d) == values.size(d);
  DY_CHECK(fits,
           "searchsorted: the sequence has one dimension, or the leading sizes of the values: sorted_sequence is {}, the "
           "values are {}",
           describe(sequence), describe(values));
  DY_CHECK_AS(TypeError, !sequence.dtype().is_complex(), "searchsorted: complex numbers have no order: sorted_sequence is {}",
              describe(sequence));
  DY_CHECK_AS(TypeError, plain(sequence) == plain(values),
              "searchsorted: dtypes differ: sorted_sequence is {}, the values are {}; convert one with .to", describe(sequence),
              describe(values));
  c.spec[0].dtype = c[arg::out_int32] ? i32 : i64;
  c.spec[0].device = sequence.device();
  c.spec[0].shape(values.sizes());
}
struct Search {
  Operand sequence, values, wide_sequence, wide_values;  // wide: in the compute type
  bool widens, right, narrow;                            // narrow: results are int32
  int64_t n, width;                                      // of a sequence, values that search the same one
};
// PyTorch's comparisons: no number comes before a NaN, wherever it is.
template <class T> bool before(T x, T v, bool right) { return right ? !(x > v) : !(x >= v); }
template <class T, class I> void search(const Search& p, const T* sequence, const T* values, I* out) {
  const int64_t n = p.n;
  const bool right = p.right;
  parallel_for(p.values.count, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T *low = sequence + i / p.width * n, *start = low;
      for (int64_t left = n; left > 1;) {  // without a branch that depends on values
        const int64_t half = left / 2;
        low += before(low[half - 1], values[i], right) ? half : 0;
        left -= half;
      }
      low += before(*low, values[i], right);
      out[i] = I(low - start);
    }
  });
}
template <class T> void search_as(const Search& p, const Array& sequence, const Array& values, void* out) {
  if (p.narrow)
    search(p, sequence.data<T>(), values.data<T>(), static_cast<int32_t*>(out));
  else
    search(p, sequence.data<T>(), values.data<T>(), static_cast<int64_t*>(out));
}
int64_t room(const Operand& o) { return (o.count * o.itemsize() + 63) / 64 * 64; }
void run(const Search& p, const Pointers& at) {
  Array sequence = at.input(0, p.sequence), values = at.input(1, p.values);
  if (values.count == 0) return;
  if (sequence.count == 0) {
    std::memset(at.out[0], 0, size_t(values.count * (p.narrow ? 4 : 8)));
    return;
  }
  if (p.widens) {
    char* to = static_cast<char*>(at.workspace);
    const Array s(p.wide_sequence, static_cast<void*>(to)), v(p.wide_values, static_cast<void*>(to + room(p.wide_sequence)));
    assign(s, sequence), assign(v, values);
    sequence = s, values = v;
  }
  switch (sequence.format->compute()) {
    case Compute::f32:
      return search_as<float>(p, sequence, values, at.out[0]);
    case Compute::f64:
      return search_as<double>(p, sequence, values, at.out[0]);
    case Compute::i32:
      return search_as<int32_t>(p, sequence, values, at.out[0]);
    case Compute::u64:
      return search_as<uint64_t>(p, sequence, values, at.out[0]);
    default:
      return search_as<int64_t>(p, sequence, values, at.out[0]);
  }
}
void plan(Call& c) {
  Search& p = c.plan.make<run, Search>();
  p.sequence = c.operand(arg::sorted_sequence), p.values = c.operand(arg::self);
  p.right = c[arg::right], p.narrow = c[arg::out_int32];
  const Operand &s = p.sequence, &v = p.values;
  p.n = s.size(-1);
  p.width = std::max<int64_t>(s.dim() == 1 ? v.count : v.size(-1), 1);
  const DType wide = compute_dtype(s.dtype());
  p.widens = s.dtype() != wide;
  if (!p.widens) return;
  p.wide_sequence = Operand(s.sizes(), wide), p.wide_values = Operand(v.sizes(), wide);
  c.plan.workspace = room(p.wide_sequence) + room(p.wide_values);
}

// A sequence of one dimension serves for values of any.
bool batched(BatchedCall& b) {
  const bool flat = b.c[arg::sorted_sequence].dim() == 1;
  const Tensor values = b.whole(arg::self);
  const bool many = b.is_batched(arg::sorted_sequence);
  b.results[0] =
      call(Op::search_rows_, many || !flat ? b.whole(arg::sorted_sequence) : b.c[arg::sorted_sequence],
           many && flat ? values.reshape({b.entries, b.c[arg::self].numel()}) : values, b.c[arg::right], b.c[arg::out_int32]);
  return true;
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "search_rows(Tensor sorted_sequence, Tensor self, bool right, bool out_int32) -> Tensor",
    .doc = "searchsorted once dtypes agree.",
    .internal = true,
    .samples =
        "search_rows(zeros(5), randn(3, 4), False, False)\n"
        "search_rows(zeros(5), randn(), True, True)\n"
        "search_rows(zeros(3, 5), randn(3, 4), True, False)",
    .bad =
        "search_rows(zeros(2, 3), zeros(3, 3), False, False) => searchsorted: the sequence has one dimension, or the leading "
        "sizes of the values: sorted_sequence is f32[2, 3], the values are f32[3, 3]",
    .skip = "cost: indices are not arithmetic",
    .infer = infer,
};
extern constexpr Kernel cpu = {.plan = plan, .dense = true};
extern constexpr Batching batching = kOwn(batched);

}  // namespace dyadic::inline v1::ops::search_rows_op
