#include "loops/gemm_bf16.h"
#include "loops/pointwise.h"
#include "ops/matmul/operand.h"
#include "ops/precision.h"

namespace dyadic::inline v1::ops {

DType gemm_type(DType d) {
  if (d == bf16 || d == f16 || d == f64 || d.is_complex()) return d;
  // Narrow floats are bf16 exactly; powers of two alone reach its subnormals, which tiles take for zero.
  const bool narrow = d.is_floating_point() && d.bits() <= 8 && d != f8e8m0fnu;
  if (narrow && bf16_path() != Bf16Path::decode) return bf16;
  if (d.is_floating_point()) return f32;
  return d == i64 ? i64 : i32;
}
DType gemm_result(DType type, DType wanted) { return (type == bf16 || type == f16) && wanted != type ? f32 : type; }

int64_t MatrixOperand::dense_stride(const TensorImpl& t, int back) const {
  if (turned && back <= 2) return back == 1 ? t.sizes[t.ndim - 2] : 1;
  int64_t s = 1;
  for (int d = t.ndim - 1; d > t.ndim - back; --d) s *= t.sizes[d];
  return s;
}

MatrixOperand matrix_operand(const Tensor& t, DType type, bool dense, bool bias) {
  MatrixOperand m;
  m.type = type;
  m.rounds = !bias;
  const bool rounds = !bias && type == f32 && matmul_rounding() != FewerBits::none;
  m.copied = rounds || t.dtype() != type || (dense && !t.is_contiguous());
  const TensorImpl& i = *t.impl();
  m.turned = m.copied && !dense && i.ndim >= 2 && i.strides[i.ndim - 2] == 1 && i.strides[i.ndim - 1] >= i.sizes[i.ndim - 2];
  if (m.copied) m.bytes = (t.numel() * type.itemsize() + 63) / 64 * 64;
  return m;
}

namespace {
Tensor turned_view(const Tensor& t) {
  std::vector<int64_t> sizes = t.sizes().vec(), strides = t.strides().vec();
  std::swap(sizes.end()[-1], sizes.end()[-2]);
  std::swap(strides.end()[-1], strides.end()[-2]);
  return make_view(t, sizes, strides, t.storage_offset());
}
}  // namespace

const char* load_operand(const Tensor& t, const MatrixOperand& m, char* workspace) {
  if (!m.copied) return t.impl()->data();
  // In the order in which it is stored: converting across columns takes ten times as long.
  const Tensor source = m.turned ? turned_view(t) : t;
  copy_elements(make_over(workspace, source.sizes(), m.type), source);
  if (m.rounds && m.type == f32) round_floats(reinterpret_cast<float*>(workspace), t.numel(), matmul_rounding());
  return workspace;
}

int64_t batch_step(const TensorImpl& t, const MatrixOperand& m, int back) {
  const int k = t.ndim - back;
  return k < 0 || t.sizes[k] == 1 ? 0 : m.copied ? m.dense_stride(t, back) : t.strides[k];
}
int64_t batch_offset(const TensorImpl& t, const MatrixOperand& m, const int64_t* batch_sizes, int batch_dims, int64_t i) {
  int64_t offset = 0;
  for (int d = batch_dims - 1; d >= 0; --d) {
    offset += i % batch_sizes[d] * batch_step(t, m, batch_dims - d + 2);
    i /= batch_sizes[d];
  }
  return offset;
}

}  // namespace dyadic::inline v1::ops
