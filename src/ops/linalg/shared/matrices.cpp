#include "ops/linalg/matrices.h"
#include "tensor/batched.h"

#include <algorithm>

#include "loops/pointwise.h"

namespace dyadic::inline v1 {

// LAPACK's routine for a wrong argument; its own prints and ends the process. Ours check before they call.
extern "C" void xerbla_(const char* routine, const int* argument, size_t length) {
  fail("{}: argument {} is wrong", std::string_view(routine, length), *argument);
}

namespace ops {
namespace {

// t with its batch expanded, its last two dimensions exchanged or not.
Array expanded(const Array& t, IntList batch, bool exchanged) {
  const int64_t n = int64_t(batch.size()), own = t.ndim - 2;
  int64_t sizes[kMaxDims], strides[kMaxDims] = {};
  std::copy(batch.begin(), batch.end(), sizes);
  for (int64_t d = std::max<int64_t>(n - own, 0); d < n; ++d)
    if (t.lengths[d - (n - own)] != 1) strides[d] = t.steps[d - (n - own)];
  for (int64_t k = 0; k < 2; ++k) sizes[n + k] = t.lengths[own + k], strides[n + k] = t.steps[own + k];
  const Array view = t.view({sizes, size_t(n) + 2}, {strides, size_t(n) + 2});
  return exchanged ? view.transposed(-2, -1) : view;
}
void load(const Array& view, void* to, DType compute) {
  if (view.numel()) copy_elements(Array(view.sizes(), compute, to), view);
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

void load_columns(const Array& t, IntList batch, void* to, DType compute) { load(expanded(t, batch, true), to, compute); }
void load_columns_apart(const Array& t, IntList batch, void* to, DType compute, int64_t ld) {
  const Array view = expanded(t, batch, true);
  const int64_t rows = t.size(-2), cols = t.size(-1);
  if (ld <= rows || view.numel() == 0) return load(view, to, compute);
  int64_t strides[kMaxDims], step = ld * cols;
  for (size_t d = batch.size(); d-- > 0; step *= batch[d]) strides[d] = step;
  strides[view.ndim - 2] = ld, strides[view.ndim - 1] = 1;
  const int64_t all[] = {step};
  copy_elements(Array(all, compute, to).view(view.sizes(), {strides, size_t(view.ndim)}), view);
}
void load_rows(const Array& t, IntList batch, void* to, DType compute) { load(expanded(t, batch, false), to, compute); }
void store_columns(const Array& out, const void* from, DType compute, int64_t rows, int64_t step) {
  if (out.numel() == 0) return;
  const int64_t n = count(batch_of(out)), m = out.size(-2), cols = out.size(-1);
  const int64_t all[] = {n * step}, sizes[] = {n, m, cols}, apart[] = {step, 1, rows}, dense[] = {m * cols, cols, 1};
  copy_elements(out.view(sizes, dense), Array(Operand(all, compute), from).view(sizes, apart));
}
void store(const Array& out, const void* from, DType compute) {
  if (out.numel()) copy_elements(out, Array(Operand(out.sizes(), compute), from));
}

void for_each_matrix(int64_t batch, FunctionRef<void(int64_t i, int64_t piece)> f) {
  const int64_t k = pieces(batch);
  parallel_each(k, [&](int64_t p) {
    for (int64_t i = batch * p / k; i < batch * (p + 1) / k; ++i) f(i, p);
  });
}

void check_info(const char* who, const Array& info, const Operand& a, const char* name, const char* what, const char* detail,
                const char* way_out) {
  const int* values = info.data<int>();
  for (int64_t i = 0; i < info.numel(); ++i) {
    if (values[i] == 0) continue;
    std::vector<int64_t> at(size_t(info.dim()));
    for (int64_t d = info.dim(), rest = i; d-- > 0; rest /= info.size(d)) at[size_t(d)] = rest % info.size(d);
    const std::string where = at.empty() ? std::string() : fmt::format(", batch element {}", shape_text(at));
    fail<LinAlgError>("{}: {}: {} is {}{}: {}; {}", who, what, name, describe(a), where,
                      fmt::format(fmt::runtime(detail), values[i]), way_out);
  }
}
void check_info(const char* who, const Tensor& info, const Tensor& a, const char* name, const char* what, const char* detail,
                const char* way_out) {
  if (info.is_meta()) return;
  const Tensor dense = every_entry(info).contiguous().cpu();
  check_info(who, Array(dense), Operand(*a.impl()), name, what, detail, way_out);
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
