// cat and stack of large tensors, which are joined a piece of rows at a time: every tensor stands where it belongs.
#include <dyadic/dyadic.h>
#include <gtest/gtest.h>

namespace dyadic {
namespace {

Tensor numbers(std::vector<int64_t> shape, DType dtype) {
  int64_t n = 1;
  for (int64_t s : shape) n *= s;
  return (arange(0, n) * 7919).reshape(shape).to(dtype);
}

void check(const std::vector<Tensor>& parts, int64_t dim) {
  const Tensor whole = cat(parts, dim);
  int64_t at = 0;
  for (const Tensor& t : parts) {
    if (t.dim() == 1 && t.numel() == 0) continue;
    EXPECT_TRUE(all(eq(narrow(whole, dim, at, t.size(dim)), t)).item() != 0) << "dim " << dim << ", at " << at;
    at += t.size(dim);
  }
  EXPECT_EQ(whole.size(dim), at);
}

TEST(Join, LargeTensorsInsideOfRows) {
  for (DType dtype : {u8, i16, f32, f64, c128})
    for (int64_t dim : {0, 1, 2}) {
      std::vector<int64_t> a{37, 50, 101}, b = a, c = a;
      b[dim] = 3, c[dim] = 77;
      check({numbers(a, dtype), numbers(b, dtype), zeros({0}, dtype), numbers(c, dtype)}, dim);
    }
}

TEST(Join, ViewsInsideOfRows) {
  const Tensor x = numbers({300, 401}, f32);
  check({narrow(x, 1, 1, 300), narrow(x.t(), 0, 0, 300), flip(narrow(x, 1, 0, 7), {0}), narrow(x, 1, 0, 1).expand({300, 9})},
        1);
}

TEST(Join, TwoTensorsElementByElement) {
  for (DType dtype : {u8, bf16, f32, f64, c128})
    for (int64_t n : {1, 63, 70001, 2 << 20}) {
      const Tensor x = numbers({n}, dtype), y = x + 1, both = stack(std::vector<Tensor>{x, y}, -1);
      EXPECT_TRUE(all(eq(select(both, 1, 0), x)).item() != 0 && all(eq(select(both, 1, 1), y)).item() != 0)
          << dtype.name() << " " << n;
    }
}

}  // namespace
}  // namespace dyadic
