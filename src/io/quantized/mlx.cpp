// MLX's packing: "weight" u32 [out, in * bits / 32], codes from the lowest bits of a row's words on, "scales" and "biases"
// [out, in / group]; w = code scale + bias. config.json has group_size and bits, and the same under a module's name for
// exceptions. In mode "mxfp4" codes are those of MXFP4 and scales its powers of two.
#include <cstring>

#include "io/quantized/floats.h"
#include "io/quantized/integers.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

const json& settings_of(const json& config, const std::string& module) {
  return config.contains(module) && config[module].is_object() ? config[module] : config;
}

PackedWeight weight(const Names& names, const std::string& stem, const json& config) {
  Pieces p(names, stem);
  const json& own = settings_of(config, stem);
  const int64_t bits = integer_of(own, "bits", 4, 1, 8), group = integer_of(own, "group_size", 64, 2, 1 << 24);
  const std::string mode = word_of(own, "mode", "affine");
  const size_t codes = p.take(".weight", {u32});
  p.check_shape(codes, {-1, -1});
  const int64_t rows = p.info(codes).shape[0], words = p.info(codes).shape[1];
  if (rows == 0 || words == 0 || words > int64_t(1) << 40 || words * 32 % bits)
    p.refuse("{} words a row do not hold codes of {} bits", words, bits);
  const int64_t cols = words * 32 / bits;
  if (cols % group) p.refuse("{} columns are no whole groups of {}", cols, group);
  const std::vector<int64_t> shape{rows, cols};
  if (mode == "mxfp4" && bits == 4 && group == 32) {
    const size_t powers = p.take(".scales", {u8});
    p.check_shape(powers, {rows, cols / group});
    return p.weight(".weight", mxfp4, shape, [=] { return mxfp4_of(p.get(codes), p.get(powers), shape); });
  }
  if (mode != "affine" || bits == 5 || bits == 7) p.refuse("mode {} with {} bits is not read", quote_name(mode), bits);
  const size_t scales = p.take(".scales", {f16, bf16, f32}), offsets = p.take(".biases", {p.info(scales).dtype});
  p.check_shape(scales, {rows, cols / group}), p.check_shape(offsets, {rows, cols / group});
  const std::string cover = group == cols ? "row" : fmt::format("group={}", group);
  const DType dtype = DType::parse(fmt::format("u{}({},scale={})", bits, cover, p.info(scales).dtype.name()));
  return p.weight(".weight", dtype, shape, [=] {
    const Filling fill(shape, dtype);
    copy_to(p.get(codes), fill.plane("codes"));
    copy_to(p.get(scales), fill.plane("scales"));
    copy_to(p.get(offsets), fill.plane("offsets"));
    return fill.tensor;
  });
}

std::vector<PackedWeight> find_mlx(const Names& names, const json& config) {
  std::vector<PackedWeight> all;
  for (const std::string& stem : names.before(".scales")) all.push_back(weight(names, stem, config));
  return all;
}

}  // namespace

extern constexpr Packing mlx_packing = {"mlx", find_mlx};

}  // namespace dyadic::inline v1::io
