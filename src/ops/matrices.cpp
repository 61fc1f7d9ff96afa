#include "ops/linalg/matrices.h"

#include <algorithm>

#include "loops/pointwise.h"

namespace dyadic::inline v1 {

// LAPACK's routine for a wrong argument; its own prints and ends the process. Ours check before they call.
extern "C" void xerbla_(const char* routine, const int* argument, size_t length) {
  fail("{}: argument {} is wrong", std::string_view(routine, length), *argument);
}

namespace ops {
namespace {

Tensor over_memory(const void* data, IntList sizes, DType compute) {
  return make_over(const_cast<void*>(data), sizes, compute);
}

std::vector<int64_t> with_matrix(IntList batch, int64_t rows, int64_t cols) {
  std::vector<int64_t> sizes = batch.vec();
  sizes.push_back(rows);
  sizes.push_back(cols);
  return sizes;
}

// t with its batch expanded, its last two dimensions exchanged or not.
Tensor expanded(const Tensor& t, IntList batch, bool exchanged) {
  const TensorImpl& i = *t.impl();
  const int64_t n = int64_t(batch.size()), own = i.ndim - 2;
  std::vector<int64_t> sizes = with_matrix(batch, i.sizes[own], i.sizes[own + 1]), strides(size_t(n), 0);
  for (int64_t d = std::max<int64_t>(n - own, 0); d < n; ++d)
    if (i.sizes[d - (n - own)] != 1) strides[size_t(d)] = i.strides[d - (n - own)];
  strides.push_back(i.strides[own]);
  strides.push_back(i.strides[own + 1]);
  if (exchanged) {
    std::swap(sizes[size_t(n)], sizes[size_t(n) + 1]);
    std::swap(strides[size_t(n)], strides[size_t(n) + 1]);
  }
  return make_view(t, sizes, strides, i.offset);
}
void load(const Tensor& view, void* to, DType compute) {
  if (view.numel()) copy_elements(over_memory(to, view.sizes(), compute), view);
}

}  // namespace

void check_matrix(const char* who, const Tensor& t, const char* name) {
  DY_CHECK_AS(TypeError, t.dtype().is_floating_point() || t.dtype().is_scaled() || t.dtype().is_complex(),
              "{}: needs floating-point or complex numbers: {} is {}; convert with .to(f32) first", who, name, describe(t));
  DY_CHECK(t.dim() >= 2, "{}: needs a matrix, or a batch of them: {} is {}", who, name, describe(t));
}
void check_square(const char* who, const Tensor& t, const char* name) {
  check_matrix(who, t, name);
  DY_CHECK(t.size(-1) == t.size(-2), "{}: needs square matrices: {} is {}", who, name, describe(t));
}
void check_same_dtype(const char* who, const Tensor& a, const Tensor& b, const char* a_name, const char* b_name) {
  DY_CHECK_AS(TypeError, plain(a) == plain(b), "{}: dtypes differ: {} is {}, {} is {}; convert one with .to", who, a_name,
              describe(a), b_name, describe(b));
}
IntList batch_of(const Tensor& t) { return {t.sizes().begin(), t.sizes().size() - 2}; }
std::vector<int64_t> common_batch(const char* who, const Tensor& a, const Tensor& b, const char* a_name, const char* b_name) {
  const IntList x = batch_of(a), y = batch_of(b);
  std::vector<int64_t> out(std::max(x.size(), y.size()));
  for (size_t d = 0; d < out.size(); ++d) {
    const size_t dx = d + x.size() - out.size(), dy = d + y.size() - out.size();  // wraps where there is none
    const int64_t p = dx < x.size() ? x[dx] : 1, q = dy < y.size() ? y[dy] : 1;
    DY_CHECK(p == q || p == 1 || q == 1, "{}: batch sizes do not broadcast: {} is {}, {} is {}", who, a_name, describe(a),
             b_name, describe(b));
    out[d] = p == 1 ? q : p;
  }
  return out;
}
int64_t count(IntList sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}
int narrow_int(int64_t n) {
  DY_CHECK(n <= 0x7fffffff, "linalg: a matrix is too large: LAPACK counts to 2^31 - 1, it has {} rows, columns or scratch", n);
  return int(n);
}
void set_spec(Spec& spec, const Tensor& like, DType dtype, IntList batch, std::initializer_list<int64_t> tail) {
  spec.dtype = dtype;
  spec.device = like.device();
  spec.shape(batch);
  DY_CHECK(batch.size() + tail.size() <= size_t(kMaxDims), "linalg: too many dimensions: {}", describe(like));
  for (int64_t s : tail) spec.sizes[spec.ndim++] = s;
}

void load_columns(const Tensor& t, IntList batch, void* to, DType compute) { load(expanded(t, batch, true), to, compute); }
void load_columns_apart(const Tensor& t, IntList batch, void* to, DType compute, int64_t ld) {
  const Tensor view = expanded(t, batch, true);
  const int64_t rows = t.size(-2), cols = t.size(-1);
  if (ld <= rows || view.numel() == 0) return load(view, to, compute);
  std::vector<int64_t> strides(batch.size());
  int64_t step = ld * cols;
  for (size_t d = batch.size(); d-- > 0; step *= batch[d]) strides[d] = step;
  strides.insert(strides.end(), {ld, 1});
  copy_elements(make_view(over_memory(to, {step}, compute), view.sizes(), strides, 0), view);
}
void load_rows(const Tensor& t, IntList batch, void* to, DType compute) { load(expanded(t, batch, false), to, compute); }
void store_columns(const Tensor& out, const void* from, DType compute, int64_t rows, int64_t step) {
  if (out.numel() == 0) return;
  const int64_t n = count(batch_of(out)), cols = out.size(-1);
  const Tensor flat = over_memory(from, {n * step}, compute);
  const Tensor view = make_view(flat, {n, out.size(-2), cols}, {step, 1, rows}, 0);
  copy_elements(make_view(out, {n, out.size(-2), cols}, {out.size(-2) * cols, cols, 1}, out.impl()->offset), view);
}
void store(const Tensor& out, const void* from, DType compute) {
  if (out.numel()) copy_elements(out, over_memory(from, out.sizes(), compute));
}

void for_each_matrix(int64_t batch, FunctionRef<void(int64_t i, int64_t piece)> f) {
  const int64_t k = pieces(batch);
  parallel_each(k, [&](int64_t p) {
    for (int64_t i = batch * p / k; i < batch * (p + 1) / k; ++i) f(i, p);
  });
}

void check_info(const char* who, const Tensor& info, const Tensor& a, const char* name, const char* what, const char* detail,
                const char* way_out) {
  if (info.is_meta() || info.numel() == 0) return;
  const int* first = info.data<int>();
  if (info.is_contiguous() && std::all_of(first, first + info.numel(), [](int i) { return i == 0; })) return;
  const std::vector<double> values = info.to_vector();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    std::vector<int64_t> at(size_t(info.dim()));
    for (int64_t d = info.dim(), rest = int64_t(i); d-- > 0; rest /= info.size(d)) at[size_t(d)] = rest % info.size(d);
    const std::string where = at.empty() ? std::string() : fmt::format(", batch element {}", shape_text(at));
    fail<LinAlgError>("{}: {}: {} is {}{}: {}; {}", who, what, name, describe(a), where,
                      fmt::format(fmt::runtime(detail), int64_t(values[i])), way_out);
  }
}

Tensor mH(const Tensor& t) { return conj(t.transpose(-2, -1)); }
Tensor widened(const Tensor& t) {
  const DType d = plain(t);
  return t.dtype().is_scaled() || (d.is_floating_point() && d != compute_dtype(d)) ? to(t, compute_dtype(d)) : t;
}
Tensor eye_like(const Tensor& t, int64_t n) { return eye(n, {}, plain(t), t.device()); }
Tensor halved_diagonal(const Tensor& t) {
  return diagonal_scatter(t, to(mul(real(diagonal(t, 0, -2, -1)), 0.5), t.dtype()), 0, -2, -1);
}

}  // namespace ops
}  // namespace dyadic::inline v1
