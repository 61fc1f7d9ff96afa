// Data for tests of raw kernels: arrays of any scalar format made from doubles and read back as doubles, reproducible random
// numbers, and a check that a result's bytes don't depend on the number of threads.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "dyadic/dtype.h"
#include "loops/operand.h"

namespace dyadic::test {

inline constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

class Numbers {  // splitmix64
  uint64_t state_;

 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(bits() % static_cast<uint64_t>(n)); }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); }
  std::vector<double> normals(int64_t n, double scale = 1) {
    std::vector<double> v(n);
    for (double& x : v) x = scale * normal();
    return v;
  }
};

struct Array {
  const Format* format;
  std::vector<unsigned char> bytes;

  Array(DType dtype, int64_t n) : format(dtype.format()), bytes(n * format->itemsize()) {}
  Array(DType dtype, const std::vector<double>& values) : Array(dtype, static_cast<int64_t>(values.size())) {
    convert(*dyadic::f64.format(), values.data(), *format, bytes.data(), size());
  }
  int64_t size() const { return static_cast<int64_t>(bytes.size()) / format->itemsize(); }
  std::vector<double> values() const {
    std::vector<double> v(size());
    convert(*format, bytes.data(), *dyadic::f64.format(), v.data(), size());
    return v;
  }
  Source source() const { return {bytes.data(), format}; }
  Target target() { return {bytes.data(), format}; }
};

// Half a unit in the last place of a stored bf16 or f16, relative; for f32 and f64, room for a few rounded operations.
inline double relative_error(DType dtype) {
  if (dtype == f64) return 1e-14;
  if (dtype == f32) return 2e-6;
  return dtype == bf16 ? 0x1.02p-8 : 0x1.02p-11;
}

inline void expect_close(const std::vector<double>& got, const std::vector<double>& want, double relative, double absolute,
                         const char* what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); i++) {
    if (std::isnan(want[i])) {
      ASSERT_TRUE(std::isnan(got[i])) << what << "[" << i << "] is " << got[i] << ", not NaN";
    } else if (std::isinf(want[i])) {
      ASSERT_EQ(got[i], want[i]) << what << "[" << i << "]";
    } else {
      ASSERT_LE(std::abs(got[i] - want[i]), relative * std::abs(want[i]) + absolute)
          << what << "[" << i << "] is " << got[i] << ", not " << want[i];
    }
  }
}

// f() runs a kernel and gives its result's bytes: the same for 1, 2, 3 and 7 threads.
template <class F> void expect_same_bits(F&& f, const char* what) {
  const int threads = num_threads();
  set_num_threads(1);
  const auto one = f();
  for (int n : {2, 3, 7}) {
    set_num_threads(n);
    const auto many = f();
    EXPECT_TRUE(one == many) << what << ": " << n << " threads give other bits than one";
  }
  set_num_threads(threads);
}

// Workspace memory, aligned to 64 bytes and full of NaN patterns, so that reading what was not written shows.
class Workspace {
  std::vector<unsigned char> bytes_;

 public:
  explicit Workspace(int64_t n) : bytes_(n + 64, 0xff) {}
  void* data() { return bytes_.data() + (64 - reinterpret_cast<uintptr_t>(bytes_.data()) % 64) % 64; }
};

}  // namespace dyadic::test
