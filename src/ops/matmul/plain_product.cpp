// Products as their definition says: one sum after another, term by term.
#include "loops/stored.h"
#include "ops/matmul/operand.h"

namespace dyadic::inline v1::ops {
namespace {

template <class T> constexpr Compute compute_of = Compute::i64;
template <> constexpr Compute compute_of<float> = Compute::f32;
template <> constexpr Compute compute_of<double> = Compute::f64;

template <class T> T value(const Operand& o, const void* data, int64_t index) {
  const Stored stored{o.format, &compute_format(o.format->compute()), o.geometry};
  alignas(16) char one[16], wanted[16];
  read_stored(stored, data, o.offset + index, 1, 1, one);
  convert_compute(o.format->compute(), one, compute_of<T>, wanted, 1);
  return *reinterpret_cast<const T*>(wanted);
}

// Rows and columns of one entry of the batch.
template <class T> void multiply(const PlainProduct& p, const Pointers& at, int64_t entry, int64_t a_at, int64_t b_at) {
  const int64_t size = p.out.itemsize();
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      T sum = 0;
      for (int64_t q = 0; q < p.k; ++q)
        sum += value<T>(p.a, at.in[0], a_at + i * p.strides.a_row + q * p.strides.a_col) *
               value<T>(p.b, at.in[1], b_at + q * p.strides.b_row + j * p.strides.b_col);
      if (p.bias.defined()) sum += value<T>(p.bias, at.in[2], j * p.bias.stride(0));
      char* to = static_cast<char*>(at.out[0]) + ((entry * p.m + i) * p.n + j) * size;
      convert(compute_format(compute_of<T>), &sum, *p.out.format, to, 1);
    }
}
template <class T> void multiply_all(const PlainProduct& p, const Pointers& at) {
  int64_t entries = 1;
  for (int d = 0; d < p.batch_dims; ++d) entries *= p.batch_sizes[d];
  for (int64_t e = 0; e < entries; ++e) {
    int64_t rest = e, a_at = 0, b_at = 0;
    for (int d = p.batch_dims - 1; d >= 0; --d) {
      const int64_t i = rest % p.batch_sizes[d];
      a_at += i * p.a_steps[d], b_at += i * p.b_steps[d], rest /= p.batch_sizes[d];
    }
    multiply<T>(p, at, e, a_at, b_at);
  }
}

}  // namespace

void run_plain_product(const PlainProduct& p, const Pointers& at) {
  switch (p.out.format->compute()) {
    case Compute::f64:
      return multiply_all<double>(p, at);
    case Compute::f32:
      return multiply_all<float>(p, at);
    default:
      return multiply_all<int64_t>(p, at);
  }
}

}  // namespace dyadic::inline v1::ops
