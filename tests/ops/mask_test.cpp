// Masks whose bytes are not 0 or 1, as view(bool) and files may bring them: any byte but 0 is true.
#include <gtest/gtest.h>

#include "dyadic/dyadic.h"

namespace dyadic {
namespace {

Tensor odd_bytes(int64_t n) {
  Tensor t = zeros({n}, u8);
  for (int64_t i = 0; i < n; ++i) t.data<uint8_t>()[i] = std::array<uint8_t, 6>{0, 1, 2, 128, 255, 0}[size_t(i % 6)];
  return t;
}

bool same_values(const Tensor& a, const Tensor& b) { return a.to_vector() == b.to_vector(); }

TEST(Masks, AnyByteButZeroIsTrue) {
  const int64_t n = 1001;
  const Tensor bytes = odd_bytes(n), odd = view_as(bytes, boolean), plain = ne(bytes, 0);
  const Tensor x = arange(0, n, 1, f32);
  EXPECT_TRUE(same_values(masked_select(x, odd), masked_select(x, plain)));
  EXPECT_TRUE(same_values(nonzero(odd), nonzero(plain)));
  EXPECT_TRUE(same_values(masked_fill(x, odd, -1), masked_fill(x, plain, -1)));
  EXPECT_TRUE(same_values(masked_scatter(x, odd, x), masked_scatter(x, plain, x)));
  EXPECT_TRUE(same_values(where(odd, x, zeros({n}, f32)), where(plain, x, zeros({n}, f32))));
  EXPECT_TRUE(same_values(odd.to(f32), plain.to(f32)));
  EXPECT_TRUE(same_values(odd.to(u8), plain.to(u8)));
  EXPECT_TRUE(same_values(sum(odd), sum(plain)));
  EXPECT_TRUE(same_values(count_nonzero(odd), count_nonzero(plain)));
  EXPECT_TRUE(same_values(logical_not(odd), logical_not(plain)));
  EXPECT_TRUE(same_values(bitwise_and(odd, plain), plain));
}

}  // namespace
}  // namespace dyadic
