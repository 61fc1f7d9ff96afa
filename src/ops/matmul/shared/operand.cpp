#include <algorithm>

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
  return d == i64 || d == u64 ? i64 : i32;  // modulo 2^64 or 2^32: the same for both kinds
}
DType gemm_result(DType type, DType wanted) { return (type == bf16 || type == f16) && wanted != type ? f32 : type; }

namespace {

int64_t padded(int64_t bytes) { return (bytes + 63) / 64 * 64; }
constexpr int64_t kBand = 512 << 10;      // bytes of a decoded band of the left operand
constexpr int64_t kSmallCopy = 32 << 10;  // elements of a weight that is rather decoded whole, once

}  // namespace

MatrixOperand::MatrixOperand(const Operand& o, DType t, Side side, bool dense) : given(o), type(t) {
  rounds = side != Side::bias && type == f32 && matmul_rounding() != FewerBits::none;
  const bool other = o.dtype() != type;
  if (other && side == Side::right && !rounds && o.count > kSmallCopy && gemm_reads(type, o.dtype())) return;
  bands =
      side == Side::left && o.format->is_blocked() && !rounds && (dense ? o.ndim == 2 : o.ndim >= 2) && o.count > kSmallCopy;
  copied = rounds || other || (dense && !o.dense);
  turned =
      copied && !dense && !bands && o.ndim >= 2 && o.steps[o.ndim - 2] == 1 && o.steps[o.ndim - 1] >= o.lengths[o.ndim - 2];
  if (copied)
    bytes = padded((bands ? std::min(o.count, std::max(kBand / type.itemsize(), o.size(-1))) : o.count) * type.itemsize());
}

int64_t MatrixOperand::step(int back) const {
  if (!copied || bands) return given.stride(-back);
  if (turned && back <= 2) return back == 1 ? given.size(-2) : 1;
  int64_t s = 1;
  for (int d = given.ndim - 1; d > given.ndim - back; --d) s *= given.lengths[d];
  return s;
}
int64_t MatrixOperand::batch_step(int back) const {
  const int k = given.ndim - back;
  return k < 0 || given.lengths[k] == 1 ? 0 : step(back);
}

const char* MatrixOperand::load(const void* data, char*& workspace) const {
  if (!copied) return static_cast<const char*>(data);
  char* to = workspace;
  workspace += bytes;
  if (bands) return to;
  // In the order in which it is stored: converting across columns takes ten times as long.
  const Array whole(given, data), source = turned ? whole.transposed(-2, -1) : whole;
  assign(Array(source.sizes(), type, to), source);
  if (rounds) round_floats(reinterpret_cast<float*>(to), given.count, matmul_rounding());
  return to;
}

Matrix MatrixOperand::matrix(int64_t row_stride, int64_t col_stride) const {
  return {copied ? type : given.dtype(), row_stride, col_stride, given.offset, given.geometry};
}

int64_t Product::entries() const {
  int64_t n = 1;
  for (int d = 0; d < batch_dims; ++d) n *= batch_sizes[d];
  return n;
}

namespace {

// Merges the batch's dimensions from the last on while both operands step through them as through one.
void merge_batch(Product& p, BatchedGemm& g) {
  bool open = !p.a.bands;
  for (int d = p.batch_dims - 1; d >= 0; --d) {
    const int64_t size = p.batch_sizes[d];
    if (size == 1) continue;
    if (open && p.batch == 1 && p.outer == 1) {
      p.batch = size, g.a_stride = p.a_steps[d], g.b_stride = p.b_steps[d];
      continue;
    }
    open = open && p.a_steps[d] == p.batch * g.a_stride && p.b_steps[d] == p.batch * g.b_stride;
    (open ? p.batch : p.outer) *= size;
  }
  g.batch = p.batch;
}
// Elements from the first matrix to number i of the batch.
int64_t batch_offset(const Product& p, const int64_t* steps, int64_t i) {
  int64_t offset = 0;
  for (int d = p.batch_dims - 1; d >= 0; --d) {
    offset += i % p.batch_sizes[d] * steps[d];
    i /= p.batch_sizes[d];
  }
  return offset;
}

// Entry i of a batch whose left operand is blocked.
void run_bands(const Product& p, const Pointers& at, GemmPointers g, char* decoded, int64_t i, int64_t b_at) {
  const Array whole(p.a.given, at.in[0]);
  const Operand& a = p.a.given;
  const int64_t first = batch_offset(p, p.a_steps, i), item = p.result.itemsize();
  for (int64_t row = 0; row < p.m; row += p.band) {
    const int64_t rows = std::min(p.band, p.m - row), sizes[] = {rows, p.k}, strides[] = {a.stride(-2), a.stride(-1)};
    assign(Array(sizes, p.a.type, decoded), whole.view(sizes, strides, first + row * strides[0]));
    g.a = decoded, g.b_first = b_at;
    run_gemm(rows == p.band ? p.gemm : p.last, g);
    g.c = static_cast<char*>(g.c) + rows * p.n * item;
  }
}

}  // namespace

void plan_product(Call& c, Product& p, const ProductStrides& s) {
  p.out = c.result();
  const DType wanted = p.out.dtype(), type = p.a.type, written = gemm_result(type, wanted);
  p.direct = written == wanted && p.out.dense;
  p.result = Operand(p.out.sizes(), written);
  BatchedGemm g;
  g.one = {p.m, p.n, p.k, p.a.matrix(s.a_row, s.a_col), p.b.matrix(s.b_row, s.b_col), written, p.n};
  if (p.bias.given.defined()) g.one.bias_dtype = written;
  g.c_stride = p.m * p.n;
  p.band = 0;
  if (p.a.bands) {
    p.band = std::clamp<int64_t>(kBand / (type.itemsize() * std::max<int64_t>(p.k, 1)), 1, std::max<int64_t>(p.m, 1));
    g.one.a = {type, p.k, 1};
  }
  merge_batch(p, g);
  if (p.band) {
    GemmCall last = g.one;
    last.m = p.m % p.band;
    p.last = plan_gemm(last);
    g.one.m = p.band;
  }
  p.gemm = plan_gemm(g);
  const int64_t result = p.direct ? 0 : padded(p.out.count * written.itemsize());
  const size_t most = p.band ? std::max(p.gemm.workspace, p.last.workspace) : p.gemm.workspace;
  c.plan.workspace = p.a.bytes + p.b.bytes + p.bias.bytes + result + int64_t(most);
}

void run_product(const Product& p, const Pointers& at) {
  char* w = static_cast<char*>(at.workspace);
  const char* a = p.a.load(at.in[0], w);
  const char* b = p.b.load(at.in[1], w);
  GemmPointers g{};
  if (p.bias.given.defined()) g.bias = p.bias.load(at.in[2], w);
  char* result = static_cast<char*>(p.direct ? at.out[0] : w);
  if (!p.direct) w += padded(p.out.count * p.result.itemsize());
  g.workspace = w;
  const int64_t size = p.a.type.itemsize(), entries = p.entries();
  for (int64_t i = 0; i < entries; i += p.batch) {
    const int64_t b_at = batch_offset(p, p.b_steps, i);
    g.b = p.gemm.is_stored ? b : b + b_at * size;
    g.c = result + i * p.m * p.n * p.result.itemsize();
    if (p.band) {
      run_bands(p, at, g, const_cast<char*>(a), i, b_at);
      continue;
    }
    g.a = a + batch_offset(p, p.a_steps, i) * size;
    g.b_first = p.gemm.is_stored ? b_at : 0;
    run_gemm(p.gemm, g);
  }
  if (!p.direct) copy_elements(Array(p.out, at.out[0]), Array(p.result, static_cast<void*>(result)));
}

}  // namespace dyadic::inline v1::ops
