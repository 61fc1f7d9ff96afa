// One matrix product with guards around its buffers, and its check against a sum in f64.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "loops/gemm_plan.h"

namespace dyadic::gemm_testing {

struct Random {
  uint64_t state;
  explicit Random(uint64_t seed) : state(seed * 2 + 1) {}
  uint32_t next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return uint32_t(state >> 33);
  }
  double uniform() { return double(next()) / double(1u << 30) - 1; }  // [-1, 1)
};

inline uint16_t to_bf16(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  return uint16_t((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
inline double from_bf16(uint16_t h) {
  const uint32_t u = uint32_t(h) << 16;
  float x;
  std::memcpy(&x, &u, 4);
  return x;
}
inline double read(const void* p, DType t, int64_t i) {
  if (t == f32) return ((const float*)p)[i];
  if (t == bf16) return from_bf16(((const uint16_t*)p)[i]);
  if (t == f16) return double(((const _Float16*)p)[i]);
  return ((const double*)p)[i];
}
inline void write(void* p, DType t, int64_t i, double x) {
  if (t == f32) ((float*)p)[i] = float(x);
  if (t == bf16) ((uint16_t*)p)[i] = to_bf16(float(x));
  if (t == f16) ((_Float16*)p)[i] = _Float16(x);
  if (t == f64) ((double*)p)[i] = x;
}

// The error of rounding `x` to a 16-bit result, with what the sum's own error adds to it; f16 counts in units of 2^-24 at
// least.
inline double rounding(DType t, double x) {
  return t == bf16 ? 0x1.02p-8 * std::fabs(x) : t == f16 ? 0x1.02p-11 * std::fabs(x) + 0x1p-25 : 0;
}

// Guards every buffer: bytes behind the end must survive.
struct Buffer {
  static constexpr size_t kGuard = 64;
  std::vector<uint8_t> bytes;
  explicit Buffer(size_t n) : bytes(n + kGuard, 0xa5) {}
  uint8_t* data() { return bytes.data(); }
  bool intact() const {
    for (size_t i = bytes.size() - kGuard; i < bytes.size(); ++i)
      if (bytes[i] != 0xa5) return false;
    return true;
  }
};

enum class Layout { rows, cols, both, reversed, broadcast };
struct Strides {
  int64_t row, col, offset, size;
};
inline Strides strides_of(Layout l, int64_t rows, int64_t cols) {
  switch (l) {
    case Layout::rows:
      return {cols + 3, 1, 0, rows * (cols + 3) + 1};
    case Layout::cols:
      return {1, rows + 2, 0, cols * (rows + 2) + 1};
    case Layout::both:
      return {2 * cols + 1, 2, 0, rows * (2 * cols + 1) + 2};
    case Layout::reversed:
      return {-cols, 1, (rows > 0 ? rows - 1 : 0) * cols, rows * cols + 1};
    default:
      return {0, 1, 0, cols + 1};
  }
}

struct Case {
  int64_t m, n, k;
  DType in = f32, out = f32;
  Layout a = Layout::rows, b = Layout::rows;
  DType bias{};
  bool accumulate = false;
  int64_t shift = 0;  // elements that a, b and c are moved by: alignment must not matter
};

struct Problem {
  Case c;
  Strides sa, sb;
  Buffer a, b, out, bias;
  GemmCall call;
  GemmPointers at{};
  std::vector<uint8_t> before;
  static constexpr int64_t kGap = 5;  // columns between c's rows that must not be touched

  explicit Problem(const Case& x)
      : c(x),
        sa(strides_of(x.a, x.m, x.k)),
        sb(strides_of(x.b, x.k, x.n)),
        a(size_t((sa.size + x.shift) * x.in.itemsize())),
        b(size_t((sb.size + x.shift) * x.in.itemsize())),
        out(size_t((x.m * (x.n + kGap) + x.shift) * x.out.itemsize())),
        bias(size_t(x.n * 8)) {
    Random r(uint64_t(x.m * 131 + x.n * 17 + x.k));
    for (int64_t i = 0; i < sa.size; ++i) write(a.data(), c.in, i + c.shift, r.uniform());
    for (int64_t i = 0; i < sb.size; ++i) write(b.data(), c.in, i + c.shift, r.uniform());
    for (int64_t i = 0; i < x.m * (x.n + kGap); ++i) write(out.data(), c.out, i + c.shift, r.uniform());
    if (c.bias)
      for (int64_t i = 0; i < x.n; ++i) write(bias.data(), c.bias, i, r.uniform());
    before = out.bytes;
    const auto place = [&](Buffer& buffer, DType t, int64_t offset) {
      return buffer.data() + (offset + c.shift) * t.itemsize();
    };
    call = {.m = c.m,
            .n = c.n,
            .k = c.k,
            .a = {c.in, sa.row, sa.col},
            .b = {c.in, sb.row, sb.col},
            .c_dtype = c.out,
            .c_row_stride = c.n + kGap,
            .bias_dtype = c.bias,
            .accumulate = c.accumulate};
    at = {place(a, c.in, sa.offset), place(b, c.in, sb.offset), place(out, c.out, 0), c.bias ? bias.data() : nullptr};
  }
  void run(int64_t workspace_shift = 0) {
    out.bytes = before;
    const GemmPlan plan = plan_gemm(call);
    Buffer workspace(plan.workspace + size_t(workspace_shift));
    at.workspace = workspace.data() + workspace_shift;
    run_gemm(plan, at);
    EXPECT_TRUE(workspace.intact()) << "wrote behind the workspace";
    EXPECT_TRUE(out.intact());
  }
  static std::vector<double> values(const void* data, const Matrix& m, int64_t rows, int64_t cols) {
    std::vector<double> v(size_t(rows * cols));
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j) v[size_t(i * cols + j)] = read(data, m.dtype, i * m.row_stride + j * m.col_stride);
    return v;
  }
  double old(int64_t i, int64_t j) const { return read(before.data(), c.out, i * (c.n + kGap) + j + c.shift); }
  // Every element (of large problems, every 37th) within the rounding errors of a sum of k + 2 terms in the compute type and
  // one rounding to the output's.
  ::testing::AssertionResult check() {
    const double eps = c.in == f64 ? 0x1p-53 : 0x1p-24;
    const std::vector<double> x = values(at.a, call.a, c.m, c.k), y = values(at.b, {c.in, sb.col, sb.row}, c.n, c.k);
    const int64_t every = c.m * c.n * c.k > 400000 ? 37 : 1;
    for (int64_t i = 0; i < c.m; ++i) {
      for (int64_t j = i * 7 % every; j < c.n; j += every) {
        double sum = 0, size = 0;
        for (size_t p = 0; p < size_t(c.k); ++p) {
          const double term = x[size_t(i * c.k) + p] * y[size_t(j * c.k) + p];  // exact for f32, f16 and bf16
          sum += term, size += std::fabs(term);
        }
        if (c.bias) sum += read(bias.data(), c.bias, j), size += std::fabs(read(bias.data(), c.bias, j));
        if (c.accumulate) sum += old(i, j), size += std::fabs(old(i, j));
        const double got = read(at.c, c.out, i * (c.n + kGap) + j);
        const double bound = double((c.in == f64 ? 2 : 1) * c.k + 3) * eps * size + rounding(c.out, sum);
        if (!(std::fabs(got - sum) <= bound))
          return ::testing::AssertionFailure()
                 << name() << ": c[" << i << ", " << j << "] is " << got << ", not " << sum << ", bound " << bound;
      }
      for (int64_t j = c.n; j < c.n + kGap; ++j)
        if (read(at.c, c.out, i * (c.n + kGap) + j) != old(i, j))
          return ::testing::AssertionFailure() << name() << ": touched column " << j << " of row " << i;
    }
    return ::testing::AssertionSuccess();
  }
  std::string name() const {
    return std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k) + " " +
           std::string(c.in == f32    ? "f32"
                       : c.in == bf16 ? "bf16"
                       : c.in == f16  ? "f16"
                                      : "f64") +
           " layouts " + std::to_string(int(c.a)) + std::to_string(int(c.b)) + (c.bias ? " bias" : "") +
           (c.accumulate ? " add" : "");
  }
};

}  // namespace dyadic::gemm_testing
