// Flat blocks over storage order, encoded: each has its largest magnitude as scale, which itself may be stored in 8 bits.
#include "plugins/cuda/formats/encode.h"

namespace dyadic::gpu {
namespace {

__constant__ DY_ISA::Codebook4 kNf4Book = DY_ISA::kNf4;
__constant__ DY_ISA::Codebook4 kFp4Book = DY_ISA::kFp4;

__global__ void __launch_bounds__(kEncodeThreads) measure_blocks(int64_t numel, int64_t block, const float* in, float* absmax) {
  const int64_t blocks = (numel + block - 1) / block;
  for (int64_t b = first_warp(); b < blocks; b += all_warps()) {
    const int64_t first = b * block, n = first + block < numel ? block : numel - first;
    const float most = bits_absmax(largest_of(in + first, n, 1, 0).all);
    if (threadIdx.x % 32 == 0) absmax[b] = most;
  }
}
template <bool kSigned> __device__ __forceinline__ uint8_t dynamic_code_of(float x, float absmax) {
  if (!(absmax > 0) || !finite(absmax)) return !infinite(x) ? (kSigned ? 127 : 0) : x > 0 ? 255 : 0;
  const bool tiny = absmax < kTiny;
  const float inverse = 1.0f / (tiny ? absmax * kLift : absmax);
  return dynamic_nearest<kSigned>((tiny ? x * kLift : x) * inverse);
}
__device__ __forceinline__ uint8_t table_code_of(const DY_ISA::Codebook4& book, float x, float absmax) {
  if (!(absmax > 0) || !finite(absmax)) return !infinite(x) ? book.zero : x > 0 ? book.highest : book.lowest;
  const bool tiny = absmax < kTiny;
  const float y = (tiny ? x * kLift : x) * (1.0f / (tiny ? absmax * kLift : absmax));
  int rank = 0;
  for (int k = 0; k < 15; ++k) rank += y > book.threshold[k];
  return book.code[rank];
}
__device__ __forceinline__ uint8_t linear_code_of(float x, float absmax) {
  float k = 0;
  if (!(absmax > 0) || !finite(absmax)) {
    k = !infinite(x) ? 0.0f : x > 0 ? 127.0f : -127.0f;
  } else {
    const float lift = absmax < kTiny ? kLift : 1.0f, inverse = 127.0f / (absmax * lift);
    k = nearest_whole(x * lift * inverse);
  }
  return uint8_t(int(k) + (k > 0 ? 128 : 127));
}
__device__ __forceinline__ uint8_t flat_code_of(Layout layout, float x, float absmax) {
  switch (layout) {
    case Layout::nf4:
      return table_code_of(kNf4Book, x, absmax);
    case Layout::fp4:
      return table_code_of(kFp4Book, x, absmax);
    case Layout::dynamic8:
      return dynamic_code_of<true>(x, absmax);
    case Layout::udynamic8:
      return dynamic_code_of<false>(x, absmax);
    default:
      return linear_code_of(x, absmax);
  }
}
__global__ void __launch_bounds__(kEncodeThreads)
    encode_codes(Blocked b, int64_t numel, const float* in, const float* absmax, uint8_t* codes) {
  for (int64_t t = first_thread(); t * kEight < numel; t += all_threads()) {
    const int64_t first = t * kEight;
    const int count = int(numel - first < kEight ? numel - first : kEight);
    uint64_t codes_here = 0;
    const int swap = b.bits == 4 ? 1 : 0;  // of two in a byte the first is the higher
    for (int k = 0; k < count; ++k) {
      const uint64_t code = flat_code_of(b.layout, in[first + k], absmax[b.block.divide(first + k)]);
      codes_here |= code << (b.bits * (k ^ swap));
    }
    const bool odd = swap && count % 2;
    if (odd) codes_here |= uint64_t(b.layout == Layout::nf4 ? kNf4Book.zero : kFp4Book.zero) << (b.bits * (count - 1));
    write_codes(codes_here, odd ? count + 1 : count, b.bits, codes + first * b.bits / 8);
  }
}
// The absmaxes themselves, less their mean, as signed dynamic8 with 256 to a block; sums of 256 first.
constexpr int64_t kNested = 256;
__global__ void __launch_bounds__(kEncodeThreads) sum_absmaxes(const float* absmax, int64_t blocks, float* sums) {
  for (int64_t n = first_thread(); n * kNested < blocks; n += all_threads()) {
    double total = 0;
    for (int64_t b = n * kNested; b < blocks && b < (n + 1) * kNested; ++b) total += finite(absmax[b]) ? absmax[b] : 0.0f;
    sums[n] = float(total);
  }
}
__global__ void mean_absmax(const float* sums, int64_t blocks, float* mean) {
  double total = 0;
  for (int64_t n = 0; n * kNested < blocks; ++n) total += sums[n];
  *mean = blocks ? float(total / double(blocks)) : 0.0f;
}
__global__ void __launch_bounds__(kEncodeThreads)
    encode_absmaxes(const float* absmax, int64_t blocks, const float* mean, uint8_t* codes, float* nested) {
  for (int64_t n = first_warp(); n * kNested < blocks; n += all_warps()) {
    const int64_t first = n * kNested, count = first + kNested < blocks ? kNested : blocks - first;
    Largest mine;
    for (int64_t i = threadIdx.x % 32; i < count; i += 32) mine.take(absmax[first + i] - *mean);
    mine.join();
    const float most = bits_absmax(mine.all);
    for (int64_t i = threadIdx.x % 32; i < count; i += 32)
      codes[first + i] = dynamic_code_of<true>(absmax[first + i] - *mean, most);
    if (threadIdx.x % 32 == 0) nested[n] = most;
  }
}

}  // namespace

int64_t flat_room(const Blocked& b) {
  return b.more < 0 ? 0 : ((b.rows * b.cols.by + b.block.by - 1) / b.block.by + kNested) * 4;
}
void encode_flat(const Blocked& b, const float* in, uint8_t* at, void* workspace) {
  const int64_t numel = b.rows * b.cols.by;
  const int64_t blocks = (numel + b.block.by - 1) / b.block.by;
  const bool doubled = b.more >= 0;
  auto* absmax = doubled ? static_cast<float*>(workspace) : reinterpret_cast<float*>(at + b.scales);
  launch(measure_blocks, grid_for(blocks * 32, 1, kEncodeThreads), numel, b.block.by, in, absmax);
  launch(encode_codes, grid_for(numel, kEight, kEncodeThreads), b, numel, in, static_cast<const float*>(absmax), at + b.codes);
  if (!doubled) return;
  auto *nested = reinterpret_cast<float*>(at + b.more), *mean = reinterpret_cast<float*>(at + b.whole);
  launch(sum_absmaxes, grid_for(blocks, kNested, kEncodeThreads), absmax, blocks, nested);
  launch(mean_absmax, Grid{1, 1}, nested, blocks, mean);
  launch(encode_absmaxes, grid_for(blocks, kNested / 32, kEncodeThreads), absmax, blocks, mean, at + b.scales, nested);
}

}  // namespace dyadic::gpu
