// What encoders share: the largest magnitudes, by a warp or over everything, and codes put together as bytes. Scales come
// first, one warp for each, then codes, eight of them a thread: as many as fill whole bytes of any width.
#pragma once
#include "plugins/cuda/copies/assign.h"
#include "plugins/cuda/formats/coding.h"
#include "plugins/cuda/formats/dynamic.h"
#include "plugins/cuda/rows/collectives.h"

namespace dyadic::gpu {

constexpr int kEncodeThreads = 256, kEight = 8;
constexpr float kTiny = 0x1p-100f, kLift = 0x1p64f;  // as in lanes.h
__device__ __forceinline__ bool finite(float x) { return (float_bits(x) & kAbsMask) < kInfBits; }
__device__ __forceinline__ bool infinite(float x) { return (float_bits(x) & kAbsMask) == kInfBits; }
__device__ __forceinline__ float bits_absmax(uint32_t bits) { return bits > kInfBits ? kNaN : bits_float(bits); }
__device__ __forceinline__ float nearest_whole(float x) { return rintf(x); }

// The largest magnitudes of n values, by bits: all of them, those that are not negative, those that are, those that are finite.
struct Largest {
  uint32_t all = 0, up = 0, down = 0, finite = 0;
  __device__ __forceinline__ void take(float x) {
    const uint32_t u = float_bits(x), size = u & kAbsMask;
    all = all > size ? all : size;
    if (u & kSignBit)
      down = down > size ? down : size;
    else
      up = up > size ? up : size;
    if (size < kInfBits) finite = finite > size ? finite : size;
  }
  __device__ __forceinline__ void join() {  // of a warp
    const auto most = [](uint32_t a, uint32_t b) { return a > b ? a : b; };
    all = warp_all<32>(all, most), up = warp_all<32>(up, most), down = warp_all<32>(down, most);
    finite = warp_all<32>(finite, most);
  }
};
// Elements [first, first + n) of `rows` rows, `pitch` apart.
__device__ __forceinline__ Largest largest_of(const float* in, int64_t n, int64_t rows, int64_t pitch) {
  Largest mine;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = threadIdx.x % 32; i < n; i += 32) mine.take(in[row * pitch + i]);
  mine.join();
  return mine;
}
__device__ __forceinline__ int64_t first_warp() { return first_thread() / 32; }
__device__ __forceinline__ int64_t all_warps() { return all_threads() / 32; }

// Eight codes behind each other, from the lowest bit up, as whole bytes.
__device__ __forceinline__ void write_codes(uint64_t codes, int count, int bits, uint8_t* to) {
  const int bytes = (count * bits + 7) / 8;
  for (int k = 0; k < bytes; ++k) to[k] = uint8_t(codes >> (8 * k));
}

// By what a format's layout is.
int64_t flat_room(const Blocked& b);
void encode_flat(const Blocked& b, const float* in, uint8_t* at, void* workspace);
void encode_groups(const Blocked& b, const float* in, uint8_t* at, void* workspace);

}  // namespace dyadic::gpu
