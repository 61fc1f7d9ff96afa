#include "io/quantized/rearranged.h"

#include <cstring>

#include "base/parallel.h"
#include "formats/layout.h"
#include "io/quantized/packing.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

constexpr int64_t kRearrangedBlock = kGgmlBlock;

// The integers that have the layout of a block format of ggml but for the order of codes: those of 4 or 8 bits with scales in
// f16 and no zero points. 0 for others.
int bits_of(DType d) {
  const Format& f = *d.format();
  const bool right = d.is_scaled() && f.params.scale == &detail::f16 && !f.params.zero &&
                     (f.params.granularity == Granularity::group || f.params.granularity == Granularity::row);
  const std::string_view name = f.def->name;
  return right && name == "i4" ? 4 : right && name == "i8" ? 8 : 0;
}

// Of 32 codes in two's complement to a block's: of 4 bits each plus 8, byte j has the elements j and j + 16.
void block_of(const uint8_t* codes, int bits, uint8_t* out) {
  if (bits == 8) return void(std::memcpy(out, codes, kRearrangedBlock));
  const auto code = [&](int64_t i) { return (codes[i / 2] >> i % 2 * 4 & 15) ^ 8; };
  for (int64_t j = 0; j < kRearrangedBlock / 2; ++j) out[j] = uint8_t(code(j) | code(j + kRearrangedBlock / 2) << 4);
}
void codes_of(const uint8_t* block, int bits, uint8_t* out) {
  if (bits == 8) return void(std::memcpy(out, block, kRearrangedBlock));
  const auto code = [&](int64_t i) { return (block[i % (kRearrangedBlock / 2)] >> i / (kRearrangedBlock / 2) * 4 & 15) ^ 8; };
  for (int64_t j = 0; j < kRearrangedBlock / 2; ++j) out[j] = uint8_t(code(2 * j) | code(2 * j + 1) << 4);
}

Tensor to_blocks(const Tensor& t, DType to, int bits, int64_t group) {
  const Filling fill(t.sizes(), to);
  const Tensor code_plane = plane_of(t, "codes"), scale_plane = plane_of(t, "scales");
  const auto *codes = elements_of<uint8_t>(code_plane), *scales = elements_of<uint8_t>(scale_plane);
  auto* blocks = fill.at<uint8_t>("blocks");
  const int64_t cols = t.size(-1), per_row = cols / kRearrangedBlock, groups = cols / group,
                bytes = kRearrangedBlock * bits / 8;
  parallel_for(t.numel() / kRearrangedBlock, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t scale = b / per_row * groups + b % per_row * kRearrangedBlock / group;
      std::memcpy(blocks + b * (2 + bytes), scales + 2 * scale, 2);
      block_of(codes + b * bytes, bits, blocks + b * (2 + bytes) + 2);
    }
  });
  return fill.tensor;
}
Tensor from_blocks(const Tensor& t, DType to, int bits) {
  const Filling fill(t.sizes(), to);
  const Tensor plane = plane_of(t, "blocks");
  const auto* blocks = elements_of<uint8_t>(plane);
  auto *codes = fill.at<uint8_t>("codes"), *scales = fill.at<uint8_t>("scales");
  const int64_t bytes = kRearrangedBlock * bits / 8;
  parallel_for(t.numel() / kRearrangedBlock, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      std::memcpy(scales + 2 * b, blocks + b * (2 + bytes), 2);
      codes_of(blocks + b * (2 + bytes) + 2, bits, codes + b * bytes);
    }
  });
  return fill.tensor;
}

}  // namespace

Tensor rearranged(const Tensor& t, DType to) {
  if (t.dim() == 0 || t.numel() == 0 || !t.is_contiguous() || t.numel() != t.impl()->storage->geometry.numel()) return {};
  const int64_t cols = t.size(-1);
  const auto blocks = [](int bits) { return bits == 4 ? q4_0 : q8_0; };
  if (const int bits = bits_of(t.dtype()); bits && to == blocks(bits)) {
    const Params& p = t.dtype().format()->params;
    const int64_t group = p.granularity == Granularity::row ? cols : p.block;
    return group % kRearrangedBlock || cols % group ? Tensor() : to_blocks(t, to, bits, group);
  }
  if (const int bits = bits_of(to); bits && t.dtype() == blocks(bits)) {
    const Params& p = to.format()->params;
    const int64_t group = p.granularity == Granularity::row ? cols : p.block;
    return group == kRearrangedBlock ? from_blocks(t, to, bits) : Tensor();
  }
  return {};
}

}  // namespace dyadic::inline v1::io
