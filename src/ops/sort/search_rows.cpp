#include <algorithm>

#include "ops/common.h"

namespace dyadic::inline v1::ops::search_rows_op {
namespace {

void infer(Call& c) {
  const Tensor &sequence = c.tensor(0), &values = c.tensor(1);
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
  c.spec[0].dtype = c.boolean(3) ? i32 : i64;
  c.spec[0].device = sequence.device();
  c.spec[0].shape(values.sizes());
}
DType computed(const Call& c) { return compute_dtype(c.tensor(0).dtype()); }
int64_t bytes_of(const Call& c, int i) {
  return computed(c) == c.tensor(i).dtype() ? 0 : (c.tensor(i).numel() * computed(c).itemsize() + 63) / 64 * 64;
}
int64_t workspace(const Call& c) { return bytes_of(c, 0) + bytes_of(c, 1); }
// PyTorch's comparisons: no number comes before a NaN, wherever it is.
template <class T> bool before(T x, T v, bool right) { return right ? !(x > v) : !(x >= v); }
template <class T, class I> void search(const Call& c, const T* sequence, const T* values, I* out) {
  const int64_t n = c.tensor(0).size(-1), count = c.tensor(1).numel();
  const int64_t width = c.tensor(0).dim() == 1 ? std::max<int64_t>(count, 1) : std::max<int64_t>(c.tensor(1).size(-1), 1);
  const bool right = c.boolean(2);
  parallel_for(count, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T *low = sequence + i / width * n, *start = low;
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
template <class T> void search_as(Call& c, const Tensor& sequence, const Tensor& values) {
  if (c.boolean(3))
    search(c, sequence.data<T>(), values.data<T>(), c.out[0].data<int32_t>());
  else
    search(c, sequence.data<T>(), values.data<T>(), c.out[0].data<int64_t>());
}
void forward(Call& c) {
  Tensor sequence = c.tensor(0), values = c.tensor(1);
  if (values.numel() == 0) return;
  if (sequence.numel() == 0) return fill(c.out[0], 0);
  if (sequence.dtype() != computed(c)) {
    char* at = static_cast<char*>(c.workspace);
    sequence = make_over(at, sequence.sizes(), computed(c));
    values = make_over(at + bytes_of(c, 0), values.sizes(), computed(c));
    assign(sequence, c.tensor(0));
    assign(values, c.tensor(1));
  }
  switch (compute_type(computed(c))) {
    case Compute::f32:
      return search_as<float>(c, sequence, values);
    case Compute::f64:
      return search_as<double>(c, sequence, values);
    case Compute::i32:
      return search_as<int32_t>(c, sequence, values);
    case Compute::u64:
      return search_as<uint64_t>(c, sequence, values);
    default:
      return search_as<int64_t>(c, sequence, values);
  }
}

}  // namespace

extern constexpr OpDef record = {
    .sig = "search_rows(Tensor sorted_sequence, Tensor self, bool right, bool out_int32) -> Tensor",
    .doc = "searchsorted once dtypes agree.",
    .samples =
        "search_rows(zeros(5), randn(3, 4), False, False)\n"
        "search_rows(zeros(5), randn(), True, True)\n"
        "search_rows(zeros(3, 5), randn(3, 4), True, False)",
    .bad =
        "search_rows(zeros(2, 3), zeros(3, 3), False, False) => searchsorted: the sequence has one dimension, or the leading "
        "sizes of the values: sorted_sequence is f32[2, 3], the values are f32[3, 3]",
    .skip = "cost: indices are not arithmetic",
    .infer = infer,
    .forward = forward,
    .workspace = workspace,
    .dense = true,
};

}  // namespace dyadic::inline v1::ops::search_rows_op
