// GPTQ's packing (AutoGPTQ, GPTQModel): of a matrix [in, out] "qweight" has the codes along in, the lowest bits of a word
// first, i32 [in * bits / 32, out]; "scales" [groups, out]; "qzeros" the zero points along out, i32 [groups, out * bits / 32];
// "g_idx" i32 [in] the group of each row. w = (code - zero) scale. Version 1 stores each zero point less 1, subtracted from
// whole words; version 2 as it is. What files say of their version is not always true: zero points that are all the middle of
// the codes, or all one less, are those of a symmetric quantization in either version.
#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "dyadic/ops.h"
#include "io/quantized/integers.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

struct Shape {
  int bits = 0;
  int64_t in = 0, out = 0, groups = 0, group = 0;
};

struct Weight {
  Shape s;
  size_t codes = 0, scales = 0, zeros = 0;
  DType scale;
  int version = 1;
  bool symmetric = false;
};

enum class Zeros { some, middle, one_less };

Zeros look_at_zeros(const Tensor& words, int bits) {
  const auto* w = elements_of<uint32_t>(words);
  const std::array<uint32_t, 3> top = top_bits(bits);
  const auto all = [&](uint32_t flip) {
    for (int64_t i = 0; i < words.numel(); ++i)
      if (w[i] != (top[size_t(i % 3)] ^ flip)) return false;
    return words.numel() > 0;
  };
  return all(0) ? Zeros::middle : all(~uint32_t(0)) ? Zeros::one_less : Zeros::some;
}

// Less the middle of the codes, as i8 [groups, out].
Tensor zero_points(const Tensor& words, const Weight& w) {
  const Shape& s = w.s;
  const Tensor zeros = make_tensor({s.groups, s.out}, i8, cpu);
  const int64_t row = s.out * s.bits / 32;
  const uint32_t mask = (1u << s.bits) - 1, middle = 1u << (s.bits - 1);
  const bool add = w.version == 1;
  const uint32_t ones = s.bits == 3 ? 0 : ~uint32_t(0) / mask;  // 1 in each field
  auto* to = static_cast<int8_t*>(zeros.data_ptr());
  std::vector<uint32_t> line(static_cast<size_t>(row));
  for (int64_t g = 0; g < s.groups; ++g) {
    for (int64_t i = 0; i < row; ++i) line[size_t(i)] = elements_of<uint32_t>(words)[g * row + i] + (add ? ones : 0);
    for (int64_t o = 0; o < s.out; ++o) {
      uint32_t zero = field(line.data(), o, s.bits);
      if (add && s.bits == 3) zero = (zero + 1) & mask;
      to[g * s.out + o] = int8_t(int(zero) - int(middle));
    }
  }
  return zeros;
}

Tensor read(const Pieces& p, const Weight& w, DType dtype, const Tensor& order) {
  const Shape& s = w.s;
  const Filling fill({s.out, s.in}, dtype);
  const Tensor words = p.get(w.codes);
  transpose_words(elements_of<uint32_t>(words), s.in * s.bits / 32, s.out, s.bits, fill.at<uint8_t>("codes"));
  transpose(p.get(w.scales), fill.plane("scales"));
  if (!w.symmetric) transpose(zero_points(p.get(w.zeros), w), fill.plane("zeros"));
  if (order.defined()) copy_to(order, fill.plane("g_idx"));
  return fill.tensor;
}

Weight shape_of(Pieces& p, const json& config) {
  Weight w;
  Shape& s = w.s;
  w.codes = p.take(".qweight", {i32}), w.zeros = p.take(".qzeros", {i32}), w.scales = p.take(".scales", {f16, bf16, f32});
  w.scale = p.info(w.scales).dtype;
  p.check_shape(w.codes, {-1, -1}), p.check_shape(w.scales, {-1, -1});
  s.groups = p.info(w.scales).shape[0], s.out = p.info(w.scales).shape[1];
  const int64_t words = p.info(w.codes).shape[0];
  p.check_shape(w.codes, {-1, s.out}), p.check_shape(w.zeros, {s.groups, -1});
  // Of each module its own: a configuration may have exceptions.
  for (int bits : {2, 3, 4, 8})
    if (s.out > 0 && p.info(w.zeros).shape[1] * 32 == s.out * bits) s.bits = bits;
  if (!s.bits || words * 32 % s.bits) p.refuse("codes of {} words a column are of no known width", words);
  s.in = words * 32 / s.bits;
  if (s.in == 0 || s.groups == 0) p.refuse("it is empty");
  const int64_t given = integer_of(config, "group_size", -1, -1, 1 << 24);
  const auto fits = [&](int64_t n) { return n > 0 && (s.in + n - 1) / n == s.groups; };
  s.group = fits(given) ? given : s.in / s.groups;
  if (!fits(s.group)) p.refuse("{} groups of {} do not make {} columns", s.groups, given, s.in);
  return w;
}

PackedWeight weight(const Names& names, const std::string& stem, const json& config, std::string& lie) {
  Pieces p(names, stem);
  Weight w = shape_of(p, config);
  const Shape& s = w.s;
  w.version = word_of(config, "checkpoint_format", "gptq") == "gptq_v2" ? 2 : 1;
  const Zeros zeros = look_at_zeros(p.get(w.zeros), s.bits);
  const int is = zeros == Zeros::middle ? 2 : 1;
  w.symmetric = zeros != Zeros::some && (is == w.version || flag_of(config, "sym", true));
  if (w.symmetric && is != w.version)
    lie = fmt::format("config.json says version {}, and zero points are those of version {}", w.version, is);
  Tensor order;
  if (p.has(".g_idx")) {
    const size_t at = p.take(".g_idx", {i32});
    p.check_shape(at, {s.in});
    order = p.get(at);
    if (groups_are_runs(p, order, s.groups, s.group)) order = {};
  }
  const DType dtype = order.defined() ? ordered_dtype(s.bits, s.group, !w.symmetric, w.scale)
                                      : integer_dtype(s.bits, s.group, s.in, !w.symmetric, w.scale);
  return p.weight(".weight", dtype, {s.out, s.in}, [=] { return read(p, w, dtype, order); });
}

std::vector<PackedWeight> find_gptq(const Names& names, const json& config) {
  const std::string format = word_of(config, "checkpoint_format", "gptq");
  DY_CHECK_AS(ValueError, format == "gptq" || format == "gptq_v2",
              "{}: its checkpoint_format is {}; what is read is gptq, gptq_v2", names.file.path(), quote_name(format));
  std::vector<PackedWeight> all;
  std::string lie;
  for (const std::string& stem : names.before(".qweight")) all.push_back(weight(names, stem, config, lie));
  if (!lie.empty()) warn(fmt::format("{}: {}", names.file.path(), lie));
  return all;
}

// The zero points along the rows, as the version has them.
Tensor pack_zeros(const Tensor& zeros, int bits, int version) {
  const int64_t out = zeros.size(0), groups = zeros.size(1), row = out * bits / 32;
  const Tensor words = dyadic::zeros({groups, row}, i32);
  auto* to = static_cast<uint32_t*>(words.data_ptr());
  const uint32_t mask = (1u << bits) - 1, less = version == 1;
  for (int64_t g = 0; g < groups; ++g) {
    for (int64_t o = 0; o < out; ++o) {
      const uint32_t zero = uint32_t(elements_of<int8_t>(zeros)[o * groups + g]) + (1u << (bits - 1));
      set_field(to + g * row, o, bits, (bits == 3 ? zero - less : zero) & mask);
    }
    for (int64_t i = 0; bits != 3 && i < row; ++i) to[g * row + i] -= less * (~uint32_t(0) / mask);
  }
  return words;
}

NamedTensors pack_gptq(const std::string& name, const Tensor& w, const json& config, const NamedTensors&) {
  if (w.dim() != 2 || !name.ends_with(".weight") || !w.is_contiguous()) return {};
  const int64_t out = w.size(0), in = w.size(1);
  const IntegerKind k = integer_kind(w.dtype(), in);
  if (!k.bits || k.bits != integer_of(config, "bits", 4, 1, 64) || in * k.bits % 32 || out * k.bits % 32) return {};
  const int64_t given = integer_of(config, "group_size", -1, -1, 1 << 24), group = given < 0 ? in : given;
  if (std::min(group, in) != std::min(k.group, in)) return {};
  const Tensor scales = plane_of(w, "scales").view({out, -1});
  const int64_t words = in * k.bits / 32, groups = scales.size(1);
  const Tensor codes = make_tensor({words, out}, i32, cpu), turned = make_tensor({groups, out}, scales.dtype(), cpu);
  transpose_back(elements_of<uint8_t>(plane_of(w, "codes")), words, out, k.bits, static_cast<uint32_t*>(codes.data_ptr()));
  transpose(scales, turned.data_ptr());
  const int version = word_of(config, "checkpoint_format", "gptq") == "gptq_v2" ? 2 : 1;
  Tensor order = plane_of(w, "g_idx");
  if (!order.defined()) {
    order = make_tensor({in}, i32, cpu);
    for (int64_t i = 0; i < in; ++i) static_cast<int32_t*>(order.data_ptr())[i] = int32_t(i / group);
  }
  return {{beside(name, "qweight"), codes},
          {beside(name, "qzeros"), pack_zeros(zeros_of(w), k.bits, version)},
          {beside(name, "scales"), turned},
          {beside(name, "g_idx"), order}};
}

// Version 1 has no zero points of 0.
json describe_gptq(DType dtype) {
  const IntegerKind k = integer_kind(dtype, -1);
  if (!k.bits) return nullptr;
  return {{"bits", k.bits},
          {"group_size", k.group},
          {"sym", !k.zero},
          {"desc_act", k.ordered},
          {"checkpoint_format", k.zero ? "gptq_v2" : "gptq"},
          {"lm_head", false}};
}

}  // namespace

extern constexpr Packing gptq_packing = {"gptq", find_gptq, pack_gptq, describe_gptq};

}  // namespace dyadic::inline v1::io
