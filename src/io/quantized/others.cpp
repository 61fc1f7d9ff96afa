// Packings of a few lines.
//   torchao      what transformers writes of its tensors: "_weight_qdata", i8 or 8-bit floats, "_weight_scale" and perhaps
//                "_weight_zero_point", of rows x groups
//   bitnet       "weight" u8 [out / 4, in]: the ternary codes of four quarters of the rows, from the lowest bits on, plus 1;
//                "weight_scale" is what they are divided by, but with the layers "autobitlinear", where it multiplies
//   auto-round   GPTQ's or AWQ's, as "packing_format" says
#include <cstring>

#include "base/parallel.h"
#include "io/quantized/floats.h"
#include "io/quantized/integers.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

std::vector<PackedWeight> find_torchao(const Names& names, const json&) {
  std::vector<PackedWeight> all;
  constexpr std::string_view kCodes = "._weight_qdata";
  for (const std::string& stem : names.before(kCodes)) {
    const DType dtype = names.file.tensors()[names.numbers.at(stem + std::string(kCodes))].dtype;
    if (dtype == f8e4m3fn || dtype == f8e5m2)
      all.push_back(float8_weight(Pieces(names, stem), kCodes, "._weight_scale", ".weight", {}));
    else
      all.push_back(byte_weight(Pieces(names, stem), kCodes, "._weight_scale", "._weight_zero_point", 0));
  }
  return all;
}

PackedWeight ternary(const Names& names, const std::string& stem, bool multiplied) {
  Pieces p(names, stem);
  const size_t codes = p.take(".weight", {u8}), scale = p.take(".weight_scale", {bf16, f16, f32});
  p.check_shape(codes, {-1, -1}), p.check_count(scale, 1);
  const int64_t quarter = p.info(codes).shape[0], cols = p.info(codes).shape[1];
  if (quarter == 0 || cols == 0 || quarter > int64_t(1) << 40) p.refuse("it is empty");
  const DType dtype = DType::parse("i2(tensor)");
  return p.weight(".weight", dtype, {4 * quarter, cols}, [=] {
    const Filling fill({4 * quarter, cols}, dtype);
    const Tensor from = p.get(codes);
    auto* to = fill.at<uint8_t>("codes");
    const int64_t pitch = (cols + 3) / 4;
    std::memset(to, 0, size_t(4 * quarter * pitch));
    parallel_for(4 * quarter, 16384 / cols + 1, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const uint8_t* row = elements_of<uint8_t>(from) + r % quarter * cols;
        for (int64_t c = 0; c < cols; ++c) {
          const int code = (row[c] >> r / quarter * 2 & 3) - 1;  // -1 ... 1; 3 is what no file has, and reads as 2 - 4
          to[r * pitch + c / 4] |= uint8_t((code & 3) << c % 4 * 2);
        }
      }
    });
    const float s = *elements_of<float>(p.get(scale).to(f32));
    *fill.at<float>("scales") = multiplied ? s : 1 / s;
    return fill.tensor;
  });
}
std::vector<PackedWeight> find_bitnet(const Names& names, const json& config) {
  std::vector<PackedWeight> all;
  const bool multiplied = word_of(config, "linear_class", "bitlinear") == "autobitlinear";
  for (const std::string& stem : names.before(".weight_scale")) all.push_back(ternary(names, stem, multiplied));
  return all;
}

std::vector<PackedWeight> find_auto_round(const Names& names, const json& config) {
  const std::string format = word_of(config, "packing_format", "auto_round:auto_gptq");
  const bool awq = format.find("awq") != std::string::npos, gptq = format.find("gptq") != std::string::npos;
  DY_CHECK_AS(ValueError, awq || gptq, "{}: packing_format {} is neither GPTQ's nor AWQ's", names.file.path(),
              quote_name(format));
  return (awq ? awq_packing : gptq_packing).find(names, config);
}

}  // namespace

extern constexpr Packing torchao_packing = {"torchao", find_torchao};
extern constexpr Packing bitnet_packing = {"bitnet", find_bitnet};
extern constexpr Packing auto_round_packing = {"auto-round", find_auto_round};

}  // namespace dyadic::inline v1::io
