#include "io/quantized/rearranged.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "formats/bits.h"
#include "formats/layout.h"
#include "io/quantized/packing.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

constexpr int64_t kRearrangedBlock = kGgmlBlock;

// The block format of ggml that holds what these integers hold in another order; undefined for others.
DType blocks_of(DType d) {
  const Format& f = *d.format();
  const std::string_view name = f.def->name;
  if (!d.is_scaled() || f.params.scale != &detail::f16 ||
      (f.params.granularity != Granularity::group && f.params.granularity != Granularity::row))
    return {};
  if (name == "i4") return f.params.zero ? q4_1 : q4_0;
  return name == "i8" && !f.params.zero ? q8_0 : DType();
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

// A block is its scale, the minimum of q4_1, and the codes.
struct Block {
  int bits;
  int64_t head, bytes;
  explicit Block(DType d) : bits(d == q8_0 ? 8 : 4), head(d == q4_1 ? 4 : 2), bytes(head + kRearrangedBlock * bits / 8) {}
};

// Of integers with this zero point: what the least code, -8, says.
float least_value(uint16_t scale, int8_t zero) { return float(-8 - zero) * f16_value(scale); }
bool has_minimums(const Tensor& t) {  // in f16
  const Tensor scale_plane = plane_of(t, "scales"), zero_plane = plane_of(t, "zeros");
  const auto* scales = elements_of<uint16_t>(scale_plane);
  const auto* zeros = elements_of<int8_t>(zero_plane);
  return std::all_of(zeros, zeros + zero_plane.numel(),
                     [&](const int8_t& z) { return std::abs(least_value(scales[&z - zeros], z)) < 65520.0f; });
}

Tensor to_blocks(const Tensor& t, DType to, int64_t group) {
  const Filling fill(t.sizes(), to);
  const Block block(to);
  const Tensor code_plane = plane_of(t, "codes"), scale_plane = plane_of(t, "scales"), zero_plane = plane_of(t, "zeros");
  const auto* codes = elements_of<uint8_t>(code_plane);
  const auto* scales = elements_of<uint16_t>(scale_plane);
  const auto* zeros = zero_plane.defined() ? elements_of<int8_t>(zero_plane) : nullptr;
  auto* blocks = fill.at<uint8_t>("blocks");
  const int64_t cols = t.size(-1), per_row = cols / kRearrangedBlock, groups = cols / group;
  parallel_for(t.numel() / kRearrangedBlock, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t scale = b / per_row * groups + b % per_row * kRearrangedBlock / group;
      uint8_t* out = blocks + b * block.bytes;
      std::memcpy(out, scales + scale, 2);
      if (zeros) {
        const uint16_t least = f16_nearest(least_value(scales[scale], zeros[scale]));
        std::memcpy(out + 2, &least, 2);
      }
      block_of(codes + b * (block.bytes - block.head), block.bits, out + block.head);
    }
  });
  return fill.tensor;
}
Tensor from_blocks(const Tensor& t, DType to) {
  const Filling fill(t.sizes(), to);
  const Block block(t.dtype());
  const Tensor plane = plane_of(t, "blocks");
  const auto* blocks = elements_of<uint8_t>(plane);
  auto *codes = fill.at<uint8_t>("codes"), *scales = fill.at<uint8_t>("scales");
  parallel_for(t.numel() / kRearrangedBlock, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      std::memcpy(scales + 2 * b, blocks + b * block.bytes, 2);
      codes_of(blocks + b * block.bytes + block.head, block.bits, codes + b * (block.bytes - block.head));
    }
  });
  return fill.tensor;
}

}  // namespace

Tensor rearranged(const Tensor& t, DType to) {
  if (t.dim() == 0 || t.numel() == 0 || !t.is_contiguous() || t.numel() != t.impl()->storage->geometry.numel()) return {};
  const int64_t cols = t.size(-1);
  const auto group_of = [&](DType d) {
    const Params& p = d.format()->params;
    return p.granularity == Granularity::row ? cols : p.block;
  };
  if (blocks_of(t.dtype()) == to) {
    const int64_t group = group_of(t.dtype());
    const bool fits = group % kRearrangedBlock == 0 && cols % group == 0 && (to != q4_1 || has_minimums(t));
    return fits ? to_blocks(t, to, group) : Tensor();
  }
  const bool back = blocks_of(to) == t.dtype() && t.dtype() != q4_1 && group_of(to) == kRearrangedBlock;
  return back ? from_blocks(t, to) : Tensor();
}

}  // namespace dyadic::inline v1::io
