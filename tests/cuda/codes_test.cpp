// Formats on a device against the host: every code of up to 16 bits is decoded, blocks of all magnitudes are decoded and
// encoded. What has no device code there goes by the host, so that all of them are asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "dyadic/dyadic.h"
#include "dyadic/planes.h"
#include "tests/cuda/on_device.h"

namespace dyadic {
namespace {

class CudaFormats : public OnDevice {
 protected:
  CpuFallback by_host;
};

std::string bytes_of(const Tensor& t) {
  std::string all;
  for (auto& [name, plane] : planes(t.cpu())) all.append(static_cast<const char*>(plane.data_ptr()), size_t(plane.nbytes()));
  return all;
}
// Bit for bit, but for which NaN it is.
void expect_same_numbers(const Tensor& far, const Tensor& here, const std::string& what) {
  const std::vector<double> a = far.cpu().to_vector(), b = here.to_vector();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i)
    if (!(std::isnan(a[i]) && std::isnan(b[i]))) {
      ASSERT_EQ(std::bit_cast<uint64_t>(a[i]), std::bit_cast<uint64_t>(b[i])) << what << ", number " << i;
    }
}

// All codes, in as many bytes as they take.
Tensor all_codes(DType d) {
  if (d.bits() <= 8) {
    std::vector<uint8_t> codes(256 * 3);  // three bytes hold whole numbers of 6 bits
    std::iota(codes.begin(), codes.end(), uint8_t(0));
    return view_as(from_data(codes.data(), {int64_t(codes.size())}, u8), d);
  }
  std::vector<uint16_t> codes(1 << 16);
  std::iota(codes.begin(), codes.end(), uint16_t(0));
  return from_data(codes.data(), {int64_t(codes.size())}, d);
}

// f32 numbers of every exponent that f16 and bf16 have, their neighbours and halves in between.
Tensor numbers_of_all_sizes() {
  std::vector<float> all;
  for (uint32_t upper = 0; upper < 1 << 16; upper += 5)
    for (const uint32_t lower : {0u, 0x1000u, 0x8000u, 0x8001u, 0xffffu}) {
      const float x = std::bit_cast<float>(upper << 16 | lower);
      all.push_back(std::isnan(x) ? 1 : x);
    }
  return from_data(all.data(), {int64_t(all.size())}, f32);
}

// Rows whose blocks differ in size; a block of zeros.
Tensor rows_of_all_sizes() {
  manual_seed(3);
  Tensor t = randn({8, 512});
  for (int64_t i = 0; i < 8; ++i) t[i].mul_(std::ldexp(1.0, int(4 * i) - 16));
  slice(t[3], 0, 0, 256).zero_();
  return t;
}

TEST_F(CudaFormats, EveryCodeIsDecoded) {
  for (const DType d : registered_dtypes()) {
    if (d.is_scaled() || d.bits() > 16 || d == boolean) continue;
    const Tensor codes = all_codes(d);
    expect_same_numbers(codes.to(there).to(f32), codes.to(f32), d.name());
    expect_same_numbers(codes.to(there).to(f64), codes.to(f64), d.name());
  }
}

TEST_F(CudaFormats, NumbersAreEncoded) {
  const Tensor x = numbers_of_all_sizes(), far = x.to(there);
  for (const DType d : registered_dtypes()) {
    if (!d.is_floating_point() || d.is_scaled() || d.bits() > 32) continue;
    expect_same_numbers(far.to(d).to(f32), x.to(d).to(f32), d.name());
    expect_same_numbers(far.to(f64).to(d).to(f32), x.to(f64).to(d).to(f32), d.name() + " from f64");
  }
}

// False where a format has no device code, which an error says.
template <class F> bool has_code(F f) {
  try {
    f();
    return true;
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("there is no code for"), std::string::npos) << e.what();
    return false;
  }
}

TEST_F(CudaFormats, BlocksAreDecodedAndEncoded) {
  const Tensor x = rows_of_all_sizes(), far = x.to(there);
  std::vector<std::string> coded;
  for (const DType d : registered_dtypes()) {
    if (!d.is_scaled()) continue;
    Tensor encoded, decoded, there_too;
    try {
      encoded = x.to(d);
    } catch (const Error&) { continue; }  // some formats are only read, some want other rows
    const bool reads = has_code([&] { decoded = encoded.to(there).to(f32); });
    const bool writes = has_code([&] { there_too = far.to(d); });
    if (reads) expect_same_numbers(decoded, encoded.to(f32), d.name());
    if (writes) { EXPECT_EQ(bytes_of(there_too), bytes_of(encoded)) << d.name(); }
    if (reads && writes) coded.push_back(d.name());
  }
  for (const DType d : {q8_0, q4_0, nf4, dynamic8})
    EXPECT_NE(std::find(coded.begin(), coded.end(), d.name()), coded.end()) << d.name();
}

}  // namespace
}  // namespace dyadic
