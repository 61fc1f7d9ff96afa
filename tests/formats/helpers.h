// What the format tests share: every instruction set's record of a format, buffers, and normal numbers from a fixed generator.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "formats/format.h"
#include "formats_list.h"

#define DY_TEST_EXTERN(name) DY_OF_AN_ISA const FormatDef name##_format;
namespace dyadic::sse4 {
DY_SCALAR_FORMATS(DY_TEST_EXTERN)
DY_BLOCK_FORMATS(DY_TEST_EXTERN)
}  // namespace dyadic::sse4
namespace dyadic::avx2 {
DY_SCALAR_FORMATS(DY_TEST_EXTERN)
DY_BLOCK_FORMATS(DY_TEST_EXTERN)
}  // namespace dyadic::avx2
namespace dyadic::avx512 {
DY_SCALAR_FORMATS(DY_TEST_EXTERN)
DY_BLOCK_FORMATS(DY_TEST_EXTERN)
}  // namespace dyadic::avx512

namespace dyadic::testing {

// The records of all files as each instruction set of this build, up to the running one, has them.
inline std::vector<std::vector<const FormatDef*>> formats_by_isa() {
#define DY_TEST_SSE4(name) &sse4::name##_format,
#define DY_TEST_AVX2(name) &avx2::name##_format,
#define DY_TEST_AVX512(name) &avx512::name##_format,
  const std::vector<const FormatDef*> each[] = {{DY_SCALAR_FORMATS(DY_TEST_SSE4) DY_BLOCK_FORMATS(DY_TEST_SSE4)},
                                                {DY_SCALAR_FORMATS(DY_TEST_AVX2) DY_BLOCK_FORMATS(DY_TEST_AVX2)},
                                                {DY_SCALAR_FORMATS(DY_TEST_AVX512) DY_BLOCK_FORMATS(DY_TEST_AVX512)}};
  std::vector<std::vector<const FormatDef*>> all;
  for (int i = 0; i <= int(isa()); ++i)
    if (is_built(Isa(i))) all.push_back(each[i]);
  return all;
}

// The same dtype as each of them computes it.
inline std::vector<Format> on_every_isa(const Format& f) {
  std::vector<Format> all;
  for (const std::vector<const FormatDef*>& records : formats_by_isa())
    for (const FormatDef* def : records)
      if (f.def->name == std::string(def->name) && (f.def->kind == Kind::scaled) == (def->kind == Kind::scaled))
        all.push_back({def, f.params, f.text, f.long_text});
  return all;
}

inline std::vector<float> normals(int64_t n, uint32_t seed, float scale = 1) {
  std::mt19937_64 bits(seed);
  std::vector<float> x(static_cast<size_t>(n));
  for (float& v : x) {  // Box-Muller: std::normal_distribution is not the same everywhere
    const double u = (double(bits() >> 11) + 0.5) * 0x1p-53, w = double(bits() >> 11) * 0x1p-53;
    v = scale * float(std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * w));
  }
  return x;
}

inline uint32_t bits_of(float x) {
  uint32_t u;
  std::memcpy(&u, &x, 4);
  return u;
}
inline float float_of(uint32_t u) {
  float x;
  std::memcpy(&x, &u, 4);
  return x;
}

// A scaled tensor's storage; the bytes behind each plane are guards.
struct Stored {
  PlaneList planes;
  std::vector<unsigned char> bytes;
  const unsigned char* plane(int i) const { return bytes.data() + planes.plane[size_t(i)].offset; }
  const float* floats(int i) const { return reinterpret_cast<const float*>(plane(i)); }
};
inline Stored encode(const Format& f, const std::vector<float>& x, Geometry g, const Round& round = {}) {
  Stored s;
  s.planes = f.def->planes(f, g);
  s.bytes.assign(size_t(s.planes.buffer_bytes) + 64, 0xAB);
  f.def->encode_all(f, x.data(), s.bytes.data(), g, round);
  return s;
}
inline std::vector<float> decode(const Format& f, const Stored& s, Geometry g, int64_t begin, int64_t end) {
  std::vector<float> out(size_t(end - begin) + 16, -77.0f);
  f.def->decode_range(f, s.bytes.data(), g, begin, end, out.data());
  for (size_t i = size_t(end - begin); i < out.size(); ++i)
    if (out[i] != -77.0f) throw std::string("decode_range wrote beyond the end");
  out.resize(size_t(end - begin));
  return out;
}
inline std::vector<float> round_trip(const Format& f, const std::vector<float>& x, Geometry g) {
  return decode(f, encode(f, x, g), g, 0, g.numel());
}
inline std::vector<float> round_trip(const std::string& name, const std::vector<float>& x, Geometry g) {
  return round_trip(*DType::parse(name).format(), x, g);
}

}  // namespace dyadic::testing
