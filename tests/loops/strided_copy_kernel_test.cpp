// Strided copies and fills of every width against an index-by-index loop: permutes, slices, flips, broadcasts, odd sizes.
#include "loops/strided_copy_kernel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace dyadic::test {
namespace {

using Dims = std::vector<int64_t>;

// A view into a buffer: offset of element zero and strides, in elements.
struct View {
  int64_t offset = 0, elements = 0;  // elements of the buffer
  Dims strides;
};

// A random layout of the sizes: permuted, padded, flipped; with `repeat`, some dimensions have stride 0.
View random_view(const Dims& sizes, bool repeat, std::mt19937& gen) {
  View v;
  v.strides.resize(sizes.size());
  std::vector<int> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (gen() % 4) std::shuffle(order.begin(), order.end(), gen);
  int64_t step = gen() % 4 == 0 ? 2 : 1;
  for (int i = static_cast<int>(order.size()) - 1; i >= 0; i--) {
    const int d = order[i];
    if (repeat && gen() % 4 == 0) continue;  // stride 0
    v.strides[d] = step;
    step = std::max<int64_t>(step * sizes[d] + (gen() % 3 == 0 ? gen() % 5 : 0), step);
    if (gen() % 5 == 0 && sizes[d] > 0) {
      v.offset += v.strides[d] * (sizes[d] - 1);
      v.strides[d] = -v.strides[d];
    }
  }
  v.elements = step + 1;
  return v;
}

template <class F> void for_each_index(const Dims& sizes, F&& f) {
  for (int64_t s : sizes) {
    if (s == 0) return;
  }
  Dims at(sizes.size(), 0);
  for (;;) {
    f(at);
    int d = static_cast<int>(sizes.size()) - 1;
    while (d >= 0 && ++at[d] == sizes[d]) at[d--] = 0;
    if (d < 0) return;
  }
}

int64_t at(const View& v, const Dims& index) {
  int64_t e = v.offset;
  for (size_t d = 0; d < index.size(); d++) e += index[d] * v.strides[d];
  return e;
}

void check_copy(const Dims& sizes, const View& dst, const View& src, int64_t width) {
  std::vector<unsigned char> from(src.elements * width), to(dst.elements * width, 0xee);
  for (size_t i = 0; i < from.size(); i++) from[i] = static_cast<unsigned char>(i * 37 + i / 256);
  auto want = to;
  for_each_index(sizes, [&](const Dims& i) { std::memcpy(&want[at(dst, i) * width], &from[at(src, i) * width], width); });
  strided_copy_kernel().copy(to.data() + dst.offset * width, dst.strides.data(), from.data() + src.offset * width,
                             src.strides.data(), sizes.data(), static_cast<int>(sizes.size()), width);
  ASSERT_TRUE(to == want) << "width " << width << ", " << sizes.size() << " dimensions";
}

View packed(const Dims& sizes) {
  View v;
  v.strides.resize(sizes.size());
  int64_t step = 1;
  for (int d = static_cast<int>(sizes.size()) - 1; d >= 0; d--) {
    v.strides[d] = step;
    step *= sizes[d];
  }
  v.elements = step;
  return v;
}

TEST(StridedCopyKernel, RandomLayouts) {
  std::mt19937 gen(1);
  for (int i = 0; i < 300; i++) {
    Dims sizes(gen() % 6);
    int64_t room = 8000;
    for (int64_t& s : sizes) {
      s = 1 + gen() % std::min<int64_t>(gen() % 3 == 0 ? 3 : 70, room);
      if (gen() % 60 == 0) s = 0;
      room = std::max<int64_t>(1, room / std::max<int64_t>(s, 1));
    }
    const View dst = random_view(sizes, false, gen), src = random_view(sizes, true, gen);
    for (int64_t width : {1, 2, 4, 8, 16}) check_copy(sizes, dst, src, width);
  }
}

TEST(StridedCopyKernel, Transposes) {
  for (auto [rows, columns] : {std::pair{1, 1}, {16, 16}, {64, 64}, {65, 63}, {128, 300}, {7, 1000}, {1000, 7}, {257, 129}}) {
    const Dims sizes = {rows, columns};
    View src = packed({columns, rows});
    std::swap(src.strides[0], src.strides[1]);
    for (int64_t width : {1, 2, 4, 8, 16}) check_copy(sizes, packed(sizes), src, width);
  }
}

TEST(StridedCopyKernel, LargeTransposesAreStreamed) {
  for (auto [rows, columns, width] :
       {std::tuple{2048, 2048, 4}, {4096, 4160, 1}, {2048, 4104, 2}, {1024, 2050, 8}, {1024, 1030, 16}, {2050, 2051, 4}}) {
    const Dims sizes = {rows, columns};
    View src = packed({columns, rows});
    std::swap(src.strides[0], src.strides[1]);
    const int64_t n = int64_t{rows} * columns;
    std::vector<unsigned char> from(n * width);
    for (size_t i = 0; i < from.size(); i++) from[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
    auto* memory = static_cast<unsigned char*>(std::aligned_alloc(64, (n * width + 63) / 64 * 64));
    strided_copy_kernel().copy(memory, packed(sizes).strides.data(), from.data(), src.strides.data(), sizes.data(), 2, width);
    int64_t wrong = 0;
    for (int64_t r = 0; r < rows; r++) {
      for (int64_t c = 0; c < columns; c++) {
        wrong += std::memcmp(memory + (r * columns + c) * width, from.data() + (c * rows + r) * width, width) != 0;
      }
    }
    EXPECT_EQ(wrong, 0) << rows << " x " << columns << " width " << width;
    std::free(memory);
  }
}

TEST(StridedCopyKernel, RowsAtEveryOffset) {
  for (int64_t bytes : {63, 64, 65, 511, 512, 513, 640, 1023, 1100, 4097}) {
    for (int64_t offset = 0; offset < 130; offset += 13) {
      View dst = packed({3, bytes + 7}), src = packed({3, bytes + 2});
      dst.offset = offset, dst.elements += offset;
      check_copy({3, bytes}, dst, src, 1);
      std::swap(dst.offset, src.offset);
      src.elements += offset;
      check_copy({3, bytes}, dst, src, 1);
    }
  }
}

TEST(StridedCopyKernel, LargeRunsAreStreamed) {
  const Dims sizes = {3, 14 << 20};
  View dst = packed({3, (14 << 20) + 5});
  dst.offset = 3, dst.elements += 3;
  check_copy(sizes, dst, packed(sizes), 1);
}

TEST(StridedCopyKernel, EverySecondElement) {
  for (int64_t n : {1, 2, 31, 32, 33, 64, 65, 200}) {
    View src = packed({2, n});
    src.strides = {2 * n + 1, 2};
    src.elements = 4 * n;  // nothing behind the last element
    for (int64_t width : {1, 2, 4, 8, 16}) check_copy({2, n}, packed({2, n}), src, width);
  }
}

TEST(StridedCopyKernel, HeadsAndTime) {
  for (int64_t d : {1, 2, 4, 20, 64}) {
    const Dims sizes = {2, 3, 17, d};  // [B, H, T, d] from [B, T, H, d]
    View src = packed({2, 17, 3, d});
    std::swap(src.strides[1], src.strides[2]);
    for (int64_t width : {1, 2, 4, 8}) check_copy(sizes, packed(sizes), src, width);
  }
}

TEST(StridedCopyKernel, LongRunsAndBroadcasts) {
  for (int64_t width : {1, 4, 16}) {
    const Dims sizes = {3, 150001};
    check_copy(sizes, packed(sizes), packed(sizes), width);
    View wide = packed({3, 150005});
    check_copy(sizes, wide, packed(sizes), width);
    View column = packed(sizes), row = packed(sizes);
    column.strides = {1, 0};
    row.strides = {0, 1};
    check_copy(sizes, packed(sizes), column, width);
    check_copy(sizes, packed(sizes), row, width);
  }
}

TEST(StridedCopyKernel, SixteenDimensions) {
  Dims sizes;
  View reversed;
  for (int d = 0; d < 16; d++) {
    sizes.insert(sizes.end(), {2, 1});
    reversed.strides.insert(reversed.strides.end(), {int64_t{1} << d, 5});
  }
  reversed.elements = 1 << 16;
  for (int64_t width : {1, 8}) check_copy(sizes, packed(sizes), reversed, width);
}

TEST(StridedCopyKernel, Fills) {
  std::mt19937 gen(2);
  std::vector<Dims> shapes = {{}, {0}, {1}, {5}, {200003}, {2, 70000}, {7, 9, 11}, {65, 33}};
  for (const Dims& sizes : shapes) {
    for (int round = 0; round < 3; round++) {
      const View dst = round == 0 ? packed(sizes) : random_view(sizes, false, gen);
      for (int64_t width : {1, 2, 4, 8, 16}) {
        std::vector<unsigned char> to(dst.elements * width, 0xee), want = to, value(width);
        for (auto& b : value) b = static_cast<unsigned char>(gen());
        for_each_index(sizes, [&](const Dims& i) { std::memcpy(&want[at(dst, i) * width], value.data(), width); });
        strided_copy_kernel().fill(to.data() + dst.offset * width, dst.strides.data(), sizes.data(),
                                   static_cast<int>(sizes.size()), value.data(), width);
        ASSERT_TRUE(to == want) << "width " << width;
      }
    }
  }
}

}  // namespace
}  // namespace dyadic::test
