// compressed-tensors (llm-compressor): beside "weight_scale", which counts scales as rows x groups,
//   integers of 2, 3, 4 and 8 bits  "weight_packed" i32, codes plus the middle from the lowest bits of a row's words on;
//                                   "weight_shape"; "weight_zero_point" packed along the rows; "weight_g_idx", the columns'
//                                   groups
//   8 bits not packed               "weight" i8 and "weight_zero_point" i8, or 8-bit floats (fp8.cpp)
//   4-bit floats                    "weight_packed" u8, the even element in the low half: NVFP4 with scales e4m3 and
//                                   "weight_global_scale", by which they are to be divided; MXFP4 with powers of two
#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "dyadic/numbers.h"
#include "dyadic/ops.h"
#include "dyadic/planes.h"
#include "io/quantized/floats.h"
#include "io/quantized/integers.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

// What the first of the groups says of weights; null without.
json weights_of(const json& config) {
  if (!config.contains("config_groups") || !config["config_groups"].is_object()) return nullptr;
  for (const json& g : config["config_groups"])
    if (g.is_object() && g.contains("weights") && g["weights"].is_object()) return g["weights"];
  return nullptr;
}
int64_t group_size(const json& config) {
  const json weights = weights_of(config);
  return weights.is_null() ? 0 : std::max<int64_t>(0, integer_of(weights, "group_size", 0, -1, 1 << 24));
}
// Of 8-bit floats.
Block scaled_block(const json& config, const std::string& path) {
  const json weights = weights_of(config);
  if (const Block b = sizes_of(weights, "block_structure", path); b.rows) return b;
  const int64_t group = group_size(config);
  return group ? Block{1, group} : Block{};
}

// Packed along rows, [rows * bits / 32, groups], as i8 less the middle, [rows, groups].
void unpack_zeros(const Tensor& words, int64_t rows, int64_t groups, int bits, int8_t* to) {
  std::vector<uint32_t> column(static_cast<size_t>(words.size(0) + 1));
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t i = 0; i < words.size(0); ++i) column[size_t(i)] = elements_of<uint32_t>(words)[i * groups + g];
    for (int64_t r = 0; r < rows; ++r) to[r * groups + g] = int8_t(int(field(column.data(), r, bits)) - (1 << (bits - 1)));
  }
}

// Rows of words as rows of whole bytes.
void unpack_rows(const Tensor& words, int64_t rows, int64_t bytes, int bits, uint8_t* to) {
  const std::array<uint32_t, 3> top = top_bits(bits);
  const int64_t width = words.size(1);
  parallel_for(rows, 16384 / (width + 1) + 1, [&](int64_t begin, int64_t end) {
    std::vector<uint32_t> line(static_cast<size_t>(width));
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t i = 0; i < width; ++i) line[size_t(i)] = elements_of<uint32_t>(words)[r * width + i] ^ top[size_t(i % 3)];
      std::memcpy(to + r * bytes, line.data(), size_t(bytes));
    }
  });
}

PackedWeight packed_integers(const Names& names, const std::string& stem, const json& config) {
  Pieces p(names, stem);
  const size_t codes = p.take(".weight_packed", {i32}), shape = p.take(".weight_shape", {i64, i32});
  p.check_shape(codes, {-1, -1}), p.check_count(shape, 2);
  const Tensor sizes = p.get(shape).to(i64);
  const int64_t rows = elements_of<int64_t>(sizes)[0], cols = elements_of<int64_t>(sizes)[1];
  if (rows < 1 || cols < 1 || cols > int64_t(1) << 40) p.refuse("its weight_shape is [{}, {}]", rows, cols);
  const int64_t width = p.info(codes).shape[1];
  p.check_shape(codes, {rows, -1});
  int bits = 0;
  for (int b : {2, 3, 4, 8})
    if (width == (cols * b + 31) / 32) bits = b;
  if (!bits) p.refuse("{} words do not hold {} codes of 2, 3, 4 or 8 bits", width, cols);
  const Scales s = scales_of(p, ".weight_scale", rows, cols, group_size(config));
  std::optional<size_t> zeros, order;
  if (p.has(".weight_zero_point")) {
    zeros = p.take(".weight_zero_point", {i32});
    p.check_shape(*zeros, {(rows * bits + 31) / 32, std::max<int64_t>(s.groups, 1)});
    if (!s.groups) p.refuse("one scale for all and zero points are not read");
  }
  if (p.has(".weight_g_idx")) {
    order = p.take(".weight_g_idx", {i32});
    p.check_shape(*order, {cols});
    if (groups_are_runs(p, p.get(*order), std::max<int64_t>(s.groups, 1), s.groups ? s.group : cols)) order = {};
  }
  const DType dtype =
      order ? ordered_dtype(bits, s.group, zeros.has_value(), s.dtype) : integer_dtype(bits, s, cols, zeros.has_value());
  return p.weight(".weight", dtype, {rows, cols}, [=] {
    const Filling fill({rows, cols}, dtype);
    unpack_rows(p.get(codes), rows, (cols * bits + 7) / 8, bits, fill.at<uint8_t>("codes"));
    copy_to(p.get(s.number), fill.plane("scales"));
    if (zeros) unpack_zeros(p.get(*zeros), rows, s.groups, bits, fill.at<int8_t>("zeros"));
    if (order) copy_to(p.get(*order), fill.plane("g_idx"));
    return fill.tensor;
  });
}

PackedWeight four_bit_floats(const Names& names, const std::string& stem) {
  Pieces p(names, stem);
  const size_t pairs = p.take(".weight_packed", {u8}), scales = p.take(".weight_scale", {f8e4m3fn, u8, f8e8m0fnu});
  p.check_shape(pairs, {-1, -1});
  const int64_t rows = p.info(pairs).shape[0], cols = p.info(pairs).shape[1] * 2;
  const bool nv = p.info(scales).dtype == f8e4m3fn;
  const int64_t group = nv ? 16 : 32;
  if (cols % group) p.refuse("{} columns are no whole groups of {}", cols, group);
  p.check_shape(scales, {rows, cols / group});
  if (!nv) return p.weight(".weight", mxfp4, {rows, cols}, [=] { return mxfp4_of(p.get(pairs), p.get(scales), {rows, cols}); });
  const size_t whole = p.take(".weight_global_scale", {f32});
  p.check_count(whole, 1);
  PackedWeight w = p.weight(".weight", nvfp4, {rows, cols}, [=] {
    const Filling fill({rows, cols}, nvfp4);
    copy_to(p.get(pairs), fill.plane("codes"));
    copy_to(p.get(scales), fill.plane("scales"));
    *fill.at<float>("tensor_scale") = 1 / *elements_of<float>(p.get(whole));
    return fill.tensor;
  });
  w.beside = {whole};  // of six floats one is not 1 / (1 / x)
  return w;
}

std::vector<PackedWeight> find_compressed_tensors(const Names& names, const json& config) {
  std::vector<PackedWeight> all = float8_weights(names, scaled_block(config, names.file.path()));
  for (const std::string& stem : names.before(".weight_scale")) {
    const auto dtype_at = [&](const std::string& ending) {
      const auto it = names.numbers.find(stem + ending);
      return it == names.numbers.end() ? DType() : names.file.tensors()[it->second].dtype;
    };
    if (dtype_at(".weight_packed") == u8) {
      all.push_back(four_bit_floats(names, stem));
    } else if (dtype_at(".weight_packed")) {
      all.push_back(packed_integers(names, stem, config));
    } else if (dtype_at(".weight") == i8) {
      all.push_back(byte_weight(Pieces(names, stem), ".weight", ".weight_scale", ".weight_zero_point", group_size(config)));
    }
  }
  for (PackedWeight& w : all)  // of activations, which are not quantized here
    for (const char* other :
         {".input_scale", ".input_zero_point", ".input_global_scale", ".output_scale", ".output_zero_point"})
      names.add_part(w, other);
  return all;
}

// Rows of codes, each on whole bytes, as rows of words.
Tensor pack_rows(const uint8_t* from, int64_t rows, int64_t cols, int bits) {
  const int64_t width = (cols * bits + 31) / 32, bytes = (cols * bits + 7) / 8;
  const Tensor words = zeros({rows, width}, i32);
  for (int64_t r = 0; r < rows; ++r) {
    auto* to = static_cast<uint32_t*>(words.data_ptr()) + r * width;
    std::memcpy(to, from + r * bytes, size_t(bytes));
    for (int64_t i = 0; i < cols; ++i) to[((i + 1) * bits - 1) / 32] ^= 1u << ((i + 1) * bits - 1) % 32;
  }
  return words;
}
Tensor pack_zeros(const Tensor& points, int bits) {
  const int64_t rows = points.size(0), groups = points.size(1), high = (rows * bits + 31) / 32;
  const Tensor words = zeros({high, groups}, i32);
  for (int64_t g = 0; g < groups; ++g) {
    std::vector<uint32_t> column(size_t(high) + 1);
    for (int64_t r = 0; r < rows; ++r)
      set_field(column.data(), r, bits, uint32_t(elements_of<int8_t>(points)[r * groups + g] + (1 << (bits - 1))));
    for (int64_t i = 0; i < high; ++i) static_cast<uint32_t*>(words.data_ptr())[i * groups + g] = column[size_t(i)];
  }
  return words;
}
NamedTensors pack_integers(const std::string& name, const Tensor& w, const IntegerKind& k) {
  const int64_t rows = w.size(0), cols = w.size(1);
  const int64_t shape[] = {rows, cols};
  NamedTensors parts{{name + "_packed", pack_rows(elements_of<uint8_t>(plane_of(w, "codes")), rows, cols, k.bits)},
                     {name + "_scale", plane_of(w, "scales").view({rows, -1})},
                     {name + "_shape", from_data(shape, {2}, i64)}};
  if (k.zero) parts.emplace_back(name + "_zero_point", pack_zeros(zeros_of(w), k.bits));
  if (k.ordered) parts.emplace_back(name + "_g_idx", plane_of(w, "g_idx"));
  return parts;
}

// The divisor for a scale: the one that it came from, where that is still so.
Tensor divisor_of(float scale, const std::string& name, const NamedTensors& beside) {
  for (const auto& [own, t] : beside)
    if (own == name && t.dtype() == f32 && t.numel() == 1 && 1 / *elements_of<float>(t) == scale) return t;
  const float divisor = 1 / scale;
  return from_data(&divisor, {1}, f32);
}

NamedTensors pack_compressed_tensors(const std::string& name, const Tensor& w, const json& config, const NamedTensors& beside) {
  if (w.dim() != 2 || !name.ends_with(".weight") || !w.is_contiguous() || w.numel() == 0) return {};
  const int64_t rows = w.size(0), cols = w.size(1);
  const std::string format = word_of(config, "format", "");
  const Params& params = w.dtype().format()->params;
  const auto scales = [&] { return plane_of(w, "scales").view({rows, -1}); };
  if (format == "pack-quantized") {
    const IntegerKind k = integer_kind(w.dtype(), cols);
    return k.bits ? pack_integers(name, w, k) : NamedTensors();
  }
  const bool whole_rows = params.granularity == Granularity::row && !params.zero;
  if (format == "int-quantized" && integer_kind(w.dtype(), cols).bits == 8 && whole_rows)
    return {{name, plane_of(w, "codes").view({rows, cols})}, {name + "_scale", scales()}};
  if (format == "float-quantized" && std::string_view(w.dtype().format()->def->name) == "f8e4m3fn" && whole_rows)
    return {{name, view_as(view_as(plane_of(w, "codes"), u8), f8e4m3fn).view({rows, cols})}, {name + "_scale", scales()}};
  if (format == "nvfp4-pack-quantized" && w.dtype() == nvfp4) {
    const std::string divisor = name + "_global_scale";
    return {{name + "_packed", plane_of(w, "codes").view({rows, cols / 2})},
            {name + "_scale", plane_of(w, "scales").view({rows, cols / 16})},
            {divisor, divisor_of(*elements_of<float>(plane_of(w, "tensor_scale")), divisor, beside)}};
  }
  return {};
}

json describe_compressed_tensors(DType dtype) {
  const Params& params = dtype.format()->params;
  const IntegerKind k = integer_kind(dtype, -1);
  const bool rows = params.granularity == Granularity::row, nv = dtype == nvfp4;
  const bool floats = std::string_view(dtype.format()->def->name) == "f8e4m3fn" && rows;
  if (!k.bits && !floats && !nv) return nullptr;
  json weights = {{"num_bits", k.bits ? k.bits
                               : nv   ? 4
                                      : 8},
                  {"type", k.bits ? "int" : "float"},
                  {"symmetric", !k.zero},
                  {"strategy", nv     ? "tensor_group"
                               : rows ? "channel"
                                      : "group"},
                  {"dynamic", false}};
  if (!rows) weights["group_size"] = params.block;
  if (k.ordered) weights["actorder"] = "group";
  return {{"config_groups", {{"group_0", {{"targets", {"Linear"}}, {"weights", weights}}}}},
          {"format", k.bits ? "pack-quantized"
                     : nv   ? "nvfp4-pack-quantized"
                            : "float-quantized"},
          {"quantization_status", "compressed"},
          {"ignore", {"lm_head"}}};
}

}  // namespace

extern constexpr Packing compressed_tensors_packing = {"compressed-tensors", find_compressed_tensors, pack_compressed_tensors,
                                                       describe_compressed_tensors};

}  // namespace dyadic::inline v1::io
