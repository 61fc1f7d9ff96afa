#include "tensor/operand.h"

#include <algorithm>

namespace dyadic::inline v1 {
namespace {

// Number of elements and contiguity, from sizes and strides.
void measure(Operand& o) {
  int64_t expected = 1;
  o.count = 1;
  o.dense = true;
  for (int d = o.ndim - 1; d >= 0; --d) {
    o.count *= o.lengths[d];
    if (o.lengths[d] == 1) continue;
    o.dense &= o.steps[d] == expected;
    expected *= o.lengths[d];
  }
  o.dense |= o.count == 0;
}
int wrapped(const Operand& o, int64_t dim) { return int(dim < 0 ? dim + o.ndim : dim); }
void advance(Array& a, int64_t elements) {
  if (a.format->is_blocked())
    a.offset += elements;
  else
    a.at += elements * a.itemsize();
}

}  // namespace

Operand::Operand(IntList sizes, DType dtype) : format(dtype.format()), ndim(int(sizes.size())) {
  reshape(sizes);
  measure(*this);
  if (!format->is_blocked()) return;
  geometry.cols = ndim ? lengths[ndim - 1] : 1;
  geometry.rows = geometry.cols ? count / geometry.cols : 0;
}

void Operand::reshape(IntList sizes) {
  ndim = int(sizes.size());
  int64_t stride = 1;
  for (int d = ndim - 1; d >= 0; --d) {
    lengths[d] = sizes[size_t(d)], steps[d] = stride;
    stride *= std::max<int64_t>(lengths[d], 1);
  }
}

Array Array::view(IntList sizes, IntList strides, int64_t from) const {
  Array a = *this;
  a.ndim = int(sizes.size());
  std::copy(sizes.begin(), sizes.end(), a.lengths);
  std::copy(strides.begin(), strides.end(), a.steps);
  measure(a);
  advance(a, from);
  return a;
}
Array Array::select(int64_t dim, int64_t index) const {
  const int k = wrapped(*this, dim);
  Array a = *this;
  advance(a, index * steps[k]);
  --a.ndim;
  for (int d = k; d < a.ndim; ++d) a.lengths[d] = lengths[d + 1], a.steps[d] = steps[d + 1];
  measure(a);
  return a;
}
Array Array::narrow(int64_t dim, int64_t start, int64_t length) const {
  const int k = wrapped(*this, dim);
  Array a = *this;
  advance(a, start * steps[k]);
  a.lengths[k] = length;
  measure(a);
  return a;
}
Array Array::transposed(int64_t x, int64_t y) const {
  Array a = *this;
  std::swap(a.lengths[wrapped(*this, x)], a.lengths[wrapped(*this, y)]);
  std::swap(a.steps[wrapped(*this, x)], a.steps[wrapped(*this, y)]);
  measure(a);
  return a;
}

}  // namespace dyadic::inline v1
