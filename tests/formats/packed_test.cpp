// Codes of fewer than 8 bits as one bitstream, on every instruction set, against one bit at a time.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "formats/packed_kernel.h"

namespace dyadic {
namespace {

constexpr uint8_t kGuard = 0xAB;

std::vector<const PackedKernel*> kernels() {
  const PackedKernel* each[] = {&sse4::packed_kernel, &avx2::packed_kernel, &avx512::packed_kernel};
  std::vector<const PackedKernel*> all;
  for (int i = 0; i <= int(isa()); ++i)
    if (is_built(Isa(i))) all.push_back(each[i]);
  return all;
}
std::vector<uint8_t> packed_by_bits(const std::vector<uint8_t>& codes, int bits) {
  std::vector<uint8_t> packed((codes.size() * size_t(bits) + 7) / 8);
  for (size_t i = 0; i < codes.size() * size_t(bits); ++i)
    packed[i / 8] |= uint8_t((codes[i / size_t(bits)] >> (i % size_t(bits)) & 1) << (i % 8));
  return packed;
}

TEST(Packed, BitstreamsOfEveryLengthFromEveryElement) {
  std::mt19937 random(3);
  for (const PackedKernel* kernel : kernels())
    for (int bits : {1, 2, 4, 6})
      for (int64_t n = 0; n < 150; ++n) {
        std::vector<uint8_t> codes;
        for (int64_t i = 0; i < n; ++i) codes.push_back(uint8_t(random() & ((1u << bits) - 1)));
        const std::vector<uint8_t> want = packed_by_bits(codes, bits);
        std::vector<uint8_t> got(want.size() + 64, kGuard);
        kernel->pack(bits, codes.data(), n, got.data());
        for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], i < want.size() ? want[i] : kGuard) << bits << " " << n;
        const std::vector<uint8_t> exact(want);  // of its size: a sanitizer sees reads behind it
        for (int64_t begin = 0; begin < std::min<int64_t>(n, 40); ++begin) {
          std::vector<uint8_t> back(size_t(n - begin + kCodeRoom) + 8, kGuard);
          kernel->unpack(bits, exact.data(), begin, n - begin, back.data());
          for (int64_t i = begin; i < n; ++i)
            ASSERT_EQ(back[size_t(i - begin)], codes[size_t(i)]) << bits << " " << n << " " << begin;
          for (size_t i = back.size() - 8; i < back.size(); ++i) ASSERT_EQ(back[i], kGuard) << bits << " " << n << " " << begin;
        }
      }
}

}  // namespace
}  // namespace dyadic
