// Embedding rows gathered by width and scattered in order, bad indices, every mode of the gradient.
#include "ops/nn/embedding_kernel.h"

#include <algorithm>

#include "tests/ops/kernel_data.h"

namespace dyadic::test {
namespace {

using Values = std::vector<double>;

std::vector<int64_t> skewed(Numbers& numbers, int64_t count, int64_t rows) {
  std::vector<int64_t> index(count);
  for (auto& i : index) i = numbers.below(3) == 0 ? rows / 2 : numbers.below(rows);
  return index;
}

TEST(EmbeddingKernel, GathersAnyWidth) {
  Numbers numbers(1);
  for (DType dtype : {f64, f32, bf16, u8}) {
    for (int64_t dim : {0, 1, 3, 64, 1025}) {
      const EmbeddingShape s{11, dim, 29};
      const Array weight(dtype, numbers.normals(s.rows * dim, 40));
      const auto index = skewed(numbers, s.count, s.rows);
      Array out(dtype, s.count * dim);
      ASSERT_EQ(embedding_kernel().gather(s, weight.bytes.data(), weight.format->itemsize(), index.data(), out.bytes.data()),
                -1);
      const Values w = weight.values(), got = out.values();
      for (int64_t i = 0; i < s.count; i++) {
        for (int64_t j = 0; j < dim; j++) ASSERT_EQ(got[i * dim + j], w[index[i] * dim + j]);
      }
    }
  }
}

TEST(EmbeddingKernel, NamesTheFirstBadIndexAndTouchesNothing) {
  const EmbeddingShape s{4, 2, 3};
  const Array weight(f32, Values(8, 1.0)), grad(f32, Values(6, 1.0));
  Array out(f32, Values(6, 5.0)), dweight(f32, Values(8, 5.0));
  Workspace space(embedding_kernel().scatter_workspace(s));
  for (int64_t bad : {int64_t{4}, int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    const std::vector<int64_t> index = {3, bad, -7};
    EXPECT_EQ(embedding_kernel().gather(s, weight.bytes.data(), 4, index.data(), out.bytes.data()), 1);
    EXPECT_EQ(embedding_kernel().scatter(s, grad.source(), index.data(), -1, dweight.target(), true, false, space.data()), 1);
  }
  EXPECT_EQ(out.values(), Values(6, 5.0));
  EXPECT_EQ(dweight.values(), Values(8, 5.0));
}

TEST(EmbeddingKernel, ScatterMatchesPlainLoops) {
  struct {
    int64_t rows, dim, count;
  } shapes[] = {{1, 1, 5}, {7, 3, 0}, {65, 64, 300}, {200, 33, 100}, {3, 1500, 20}, {3, 0, 4}};
  Numbers numbers(2);
  for (auto shape : shapes) {
    const EmbeddingShape s{shape.rows, shape.dim, shape.count};
    for (auto [from, to] : {std::pair{f32, f32}, {f64, f64}, {bf16, f32}, {bf16, bf16}, {f16, f16}}) {
      for (auto [accumulate, mean] : {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
        for (int64_t skip : {int64_t{-1}, s.rows / 2}) {
          const Array grad(from, numbers.normals(s.count * s.dim));
          Array dweight(to, numbers.normals(s.rows * s.dim));
          const auto index = skewed(numbers, s.count, s.rows);
          Values want = accumulate ? dweight.values() : Values(s.rows * s.dim, 0.0);
          const Values g = grad.values();
          for (int64_t i = 0; i < s.count; i++) {
            const double share = mean ? 1.0 / double(std::count(index.begin(), index.end(), index[i])) : 1.0;
            for (int64_t j = 0; index[i] != skip && j < s.dim; j++) want[index[i] * s.dim + j] += share * g[i * s.dim + j];
          }
          Workspace space(embedding_kernel().scatter_workspace(s));
          ASSERT_EQ(embedding_kernel().scatter(s, grad.source(), index.data(), skip, dweight.target(), accumulate, mean,
                                               space.data()),
                    -1);
          expect_close(dweight.values(), want, relative_error(to), from == f64 ? 1e-13 : 2e-5, "dweight");
        }
      }
    }
  }
}

TEST(EmbeddingKernel, SameBitsForAnyThreads) {
  Numbers numbers(3);
  const EmbeddingShape s{257, 130, 4000};
  const Array grad(f32, numbers.normals(s.count * s.dim));
  const auto index = skewed(numbers, s.count, s.rows);
  expect_same_bits(
      [&] {
        Array dweight(f32, s.rows * s.dim);
        Workspace space(embedding_kernel().scatter_workspace(s));
        embedding_kernel().scatter(s, grad.source(), index.data(), -1, dweight.target(), false, false, space.data());
        return dweight.bytes;
      },
      "embedding");
}

}  // namespace
}  // namespace dyadic::test
