#include "io/quantized/rearranged.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "base/parallel.h"
#include "dyadic/ops.h"
#include "formats/layout.h"
#include "io/quantized/integers.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

constexpr int64_t kRearrangedBlock = kGgmlBlock;

constexpr float kMostF16 = 65520;  // from here on it rounds to infinity

// Of 32 codes, from the lowest bits of the first word on, to a block's: of up to 4 bits, with `top` xored and `plus` added,
// byte j has the elements j and j + 16.
struct CodeOrder {
  int bits;
  uint32_t top, plus;
};
void block_of(const uint8_t* codes, CodeOrder o, uint8_t* out) {
  if (o.bits == 8) return void(std::memcpy(out, codes, kRearrangedBlock));
  uint32_t words[kRearrangedBlock * 4 / 32];
  std::memcpy(words, codes, size_t(kRearrangedBlock * o.bits / 8));
  const auto code = [&](int64_t i) { return (field(words, i, o.bits) ^ o.top) + o.plus; };
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

// Scales, and what the least code says, in f16.
struct Heads {
  Tensor scales, least;  // undefined: there is none

  Heads(const Tensor& t, int bits) : scales(plane_of(t, "scales").to(f16)), least(plane_of(t, "offsets")) {
    const NoGrad guard;
    const Tensor zeros = plane_of(t, "zeros");
    if (zeros.defined()) least = (zeros.to(f32) + double(1 << (bits - 1))) * plane_of(t, "scales").to(f32) * -1.0;
    if (least.defined()) least = least.to(f16);
  }
  // Whether f16 has them, normal ones but for zeros: a subnormal has lost more than a bit in 2048.
  bool hold_scales(const Tensor& t) const {
    const Tensor own = plane_of(t, "scales");
    if (own.dtype() != f16)
      for (const Tensor wide = own.to(f32); const float& s : std::span(wide.data<float>(), size_t(wide.numel())))
        if (s != 0 && !(std::abs(s) >= 0x1p-14f && std::abs(s) < kMostF16)) return false;
    return true;
  }
  bool hold(const Tensor& t) const {
    if (!hold_scales(t)) return false;
    if (!least.defined()) return true;
    const Tensor wide = least.to(f32);
    return std::ranges::all_of(std::span(wide.data<float>(), size_t(wide.numel())),
                               [](float m) { return std::abs(m) < kMostF16; });
  }
};

// The number of a block's scale.
class ScaleOf {
  int64_t per_row_, group_, groups_;
  bool one_;

 public:
  explicit ScaleOf(const Tensor& t) {
    const Params& p = t.dtype().format()->params;
    const int64_t cols = t.size(-1);
    per_row_ = cols / kRearrangedBlock;
    group_ = p.granularity == Granularity::group ? p.block : cols, groups_ = (cols + group_ - 1) / group_;
    one_ = p.granularity == Granularity::tensor;
  }
  int64_t operator()(int64_t block) const {
    return one_ ? 0 : block / per_row_ * groups_ + block % per_row_ * kRearrangedBlock / group_;
  }
};

Tensor to_blocks(const Tensor& t, DType to) {
  const Format& f = *t.dtype().format();
  const int bits = f.def->bits;
  const Heads heads(t, bits);
  if (!heads.hold(t)) return {};
  const Filling fill(t.sizes(), to);
  const Block block(to);
  const Tensor code_plane = plane_of(t, "codes");
  const auto* codes = elements_of<uint8_t>(code_plane);
  const auto* scales = elements_of<uint16_t>(heads.scales);
  const auto* least = heads.least.defined() ? elements_of<uint16_t>(heads.least) : nullptr;
  auto* blocks = fill.at<uint8_t>("blocks");
  const bool is_signed = f.def->name[0] == 'i';  // two's complement: the middle, then from 0 on in q4_1, around 8 in q4_0
  const CodeOrder order{bits, is_signed ? 1u << (bits - 1) : 0, to == q4_0 ? 8 - (1u << (bits - 1)) : 0};
  const ScaleOf scale_of(t);
  parallel_for(t.numel() / kRearrangedBlock, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t at = scale_of(b);
      uint8_t* out = blocks + b * block.bytes;
      std::memcpy(out, scales + at, 2);
      if (least) std::memcpy(out + 2, least + at, 2);
      block_of(codes + b * kRearrangedBlock * bits / 8, order, out + block.head);
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

// Of each scale the code that is zero; none where an offset is no whole number of steps, but for what rounding it has lost.
struct ZeroCodes {
  std::vector<int32_t> at;
  std::vector<bool> known;

  explicit ZeroCodes(const Tensor& t) {
    const NoGrad guard;
    const Tensor scales = plane_of(t, "scales").to(f32), zeros = plane_of(t, "zeros"), plane = plane_of(t, "offsets");
    const Tensor offsets = plane.defined() ? plane.to(f32) : Tensor();
    const auto n = size_t(scales.numel());
    at.assign(n, 0), known.assign(n, true);
    for (size_t i = 0; i < n; ++i) {
      if (zeros.defined()) at[i] = elements_of<int8_t>(zeros)[i];
      if (!offsets.defined()) continue;
      const float s = scales.data<float>()[i], o = offsets.data<float>()[i], z = s == 0 ? 0 : std::nearbyint(-o / s);
      known[i] = std::abs(z) <= 512 && std::abs(o + z * s) <= std::abs(s) / 8;  // NaN is not
      if (known[i]) at[i] = int32_t(z);
    }
  }
};

// q8_0 of integers whose codes less the zero fit 8 bits: these are its codes. Blocks where they do not are made of the values.
Tensor to_bytes(const Tensor& t) {
  const Format& f = *t.dtype().format();
  const int bits = f.def->bits;
  const bool is_signed = f.def->name[0] == 'i';
  const Heads heads(t, bits);
  if (!heads.hold_scales(t)) return {};
  const ZeroCodes zero(t);
  const Filling fill(t.sizes(), q8_0);
  const Block block(q8_0);
  const Tensor code_plane = plane_of(t, "codes");
  const auto* codes = elements_of<uint8_t>(code_plane);
  auto* blocks = fill.at<uint8_t>("blocks");
  const ScaleOf scale_of(t);
  std::vector<uint8_t> fits(size_t(t.numel() / kRearrangedBlock));
  parallel_for(int64_t(fits.size()), 1024, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t at = scale_of(b);
      uint32_t words[kRearrangedBlock * 8 / 32];
      std::memcpy(words, codes + b * kRearrangedBlock * bits / 8, size_t(kRearrangedBlock * bits / 8));
      uint8_t* out = blocks + b * block.bytes;
      std::memcpy(out, elements_of<uint16_t>(heads.scales) + at, 2);
      bool all = zero.known[size_t(at)];
      for (int64_t j = 0; j < kRearrangedBlock; ++j) {
        int code = int(field(words, j, bits));
        if (is_signed && code >> (bits - 1)) code -= 1 << bits;
        const int q = code - zero.at[size_t(at)];
        all = all && q >= -128 && q <= 127;
        out[block.head + j] = uint8_t(q);
      }
      fits[size_t(b)] = all;
    }
  });
  if (std::ranges::find(fits, 0) == fits.end()) return fill.tensor;
  const NoGrad guard;
  const Tensor made = plane_of(t.to(f32).to(q8_0), "blocks");
  for (size_t b = 0; b < fits.size(); ++b)
    if (!fits[b])
      std::memcpy(blocks + int64_t(b) * block.bytes, elements_of<uint8_t>(made) + int64_t(b) * block.bytes,
                  size_t(block.bytes));
  return fill.tensor;
}

// Of integers with scales for rows or all, or for groups of whole blocks.
bool has_block_scales(DType d) {
  if (!d || !d.is_scaled()) return false;
  const Format& f = *d.format();
  const std::string_view name = f.def->name;
  if (name.size() != 2 || (name[0] != 'i' && name[0] != 'u')) return false;
  return f.params.granularity != Granularity::group || f.params.block % kRearrangedBlock == 0;
}

}  // namespace

DType blocks_for(DType integers) {
  if (!has_block_scales(integers)) return {};
  const Format& f = *integers.format();
  const bool minimum = f.def->name[0] == 'u' || f.params.zero;
  if (f.def->bits <= 4) return minimum ? q4_1 : q4_0;
  return f.def->bits == 8 && !minimum ? q8_0 : DType();
}

Tensor rearranged(const Tensor& t, DType to) {
  if (t.dim() == 0 || t.numel() == 0 || !t.is_contiguous() || t.numel() != t.impl()->storage->geometry.numel()) return {};
  if (t.size(-1) % kRearrangedBlock) return {};
  if (blocks_for(t.dtype()) == to) return to_blocks(t, to);
  if (to == q8_0 && has_block_scales(t.dtype())) return to_bytes(t);
  const bool back = (t.dtype() == q4_0 || t.dtype() == q8_0) &&
                    to == DType::parse(t.dtype() == q4_0 ? "i4(group=32,scale=f16)" : "i8(group=32,scale=f16)");
  return back ? from_blocks(t, to) : Tensor();
}

}  // namespace dyadic::inline v1::io
