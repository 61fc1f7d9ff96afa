// MXFP4 as gpt-oss has it: of experts [experts, in, out] "<name>_blocks" u8 [experts, out, in / 32, 16], the even element of
// two in the low half, and "<name>_scales" u8 [experts, out, in / 32], powers of two. The dtype mxfp4 (ggml's) has each scale
// before its block, whose bytes hold the elements j and j + 16. Rows are along in, so that the weight is a transposed view.
#include "base/parallel.h"
#include "dyadic/ops.h"
#include "io/quantized/floats.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

constexpr int64_t kBlock = 32, kHalf = kBlock / 2, kBytes = 1 + kHalf;

uint8_t element(const uint8_t* pairs, int64_t i) { return pairs[i / 2] >> i % 2 * 4 & 15; }

PackedWeight mxfp4_weight(const Names& names, const std::string& stem) {
  Pieces p(names, stem);
  const size_t blocks = p.take("_blocks", {u8}), scales = p.take("_scales", {u8, f8e8m0fnu});
  p.check_shape(blocks, {-1, -1, -1, kHalf});
  const std::vector<int64_t>& s = p.info(blocks).shape;
  const int64_t experts = s[0], out = s[1], groups = s[2];
  p.check_shape(scales, {experts, out, groups});
  PackedWeight w = p.weight("", mxfp4, {experts, groups * kBlock, out}, [=] {
    return mxfp4_of(p.get(blocks), p.get(scales), {experts, out, groups * kBlock}).transpose(1, 2);
  });
  w.info.order = {0, 2, 1};
  return w;
}

std::vector<PackedWeight> find_mxfp4(const Names& names, const json&) {
  std::vector<PackedWeight> all;
  for (const std::string& stem : names.before("_blocks")) all.push_back(mxfp4_weight(names, stem));
  return all;
}

// Experts' weights; their transposed view lies in the file's order.
NamedTensors pack_mxfp4(const std::string& name, const Tensor& w, const json&, const NamedTensors&) {
  if (w.dtype() != mxfp4 || w.dim() != 3 || !w.transpose(1, 2).is_contiguous()) return {};
  const int64_t experts = w.size(0), out = w.size(2), groups = w.size(1) / kBlock;
  const Tensor pairs = make_tensor({experts, out, groups, kHalf}, u8, cpu),
               powers = make_tensor({experts, out, groups}, u8, cpu);
  const Tensor blocks = plane_of(w.transpose(1, 2), "blocks");
  const auto* from = elements_of<uint8_t>(blocks);
  auto *to = static_cast<uint8_t*>(pairs.data_ptr()), *power = static_cast<uint8_t*>(powers.data_ptr());
  const auto code = [](const uint8_t* half, int64_t i) { return half[i % kHalf] >> i / kHalf * 4 & 15; };
  for (int64_t b = 0; b < powers.numel(); ++b) {
    power[b] = from[b * kBytes];
    const uint8_t* half = from + b * kBytes + 1;
    for (int64_t j = 0; j < kHalf; ++j) to[b * kHalf + j] = uint8_t(code(half, 2 * j) | code(half, 2 * j + 1) << 4);
  }
  return {{name + "_blocks", pairs}, {name + "_scales", powers}};
}

}  // namespace

Tensor mxfp4_of(const Tensor& pairs, const Tensor& powers, IntList shape) {
  const Filling fill(shape, mxfp4);
  const auto *from = elements_of<uint8_t>(pairs), *power = elements_of<uint8_t>(powers);
  auto* to = fill.at<uint8_t>("blocks");
  parallel_for(powers.numel(), 1024, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      to[b * kBytes] = power[b];
      for (int64_t j = 0; j < kHalf; ++j)
        to[b * kBytes + 1 + j] = uint8_t(element(from + b * kHalf, j) | element(from + b * kHalf, j + kHalf) << 4);
    }
  });
  return fill.tensor;
}

extern constexpr Packing mxfp4_packing = {"mxfp4", find_mxfp4, pack_mxfp4};

}  // namespace dyadic::inline v1::io
