// AWQ's packing for its "gemm" kernels (AutoAWQ): of a matrix [in, out] "qweight" has 8 codes along out in each word, i32
// [in, out / 8], those of columns 0 2 4 6 1 3 5 7 from the lowest bits up; "qzeros" the zero points likewise, i32 [groups, out
// / 8]; "scales" [groups, out]. w = (code - zero) scale.
#include "base/parallel.h"
#include "dyadic/ops.h"
#include "io/quantized/integers.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

constexpr int64_t kColumn[8] = {0, 2, 4, 6, 1, 3, 5, 7};

PackedWeight weight(const Names& names, const std::string& stem) {
  Pieces p(names, stem);
  const size_t codes = p.take(".qweight", {i32}), zeros = p.take(".qzeros", {i32}),
               scales = p.take(".scales", {f16, bf16, f32});
  p.check_shape(codes, {-1, -1}), p.check_shape(scales, {-1, -1});
  const int64_t in = p.info(codes).shape[0], groups = p.info(scales).shape[0], out = p.info(scales).shape[1];
  if (in == 0 || groups == 0 || in % groups || out % 8 || in / groups % 2)
    p.refuse("{} columns in {} groups, of {} rows: no packing of AWQ's", in, groups, out);
  p.check_shape(codes, {in, out / 8}), p.check_shape(zeros, {groups, out / 8});
  const DType dtype = integer_dtype(4, in / groups, in, true, p.info(scales).dtype);
  return p.weight(".weight", dtype, {out, in}, [=] {
    const Filling fill({out, in}, dtype);
    const Tensor words = p.get(codes), zero_words = p.get(zeros);
    const auto *from = elements_of<uint32_t>(words), *zero = elements_of<uint32_t>(zero_words);
    auto* to = fill.at<uint8_t>("codes");
    auto* middles = fill.at<int8_t>("zeros");
    parallel_for(out / 8, 4096 / in + 1, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) {
        for (int64_t i = 0; i < in; i += 2) {
          const uint32_t even = from[i * (out / 8) + j] ^ 0x88888888u, odd = from[(i + 1) * (out / 8) + j] ^ 0x88888888u;
          for (int k = 0; k < 8; ++k)
            to[((j * 8 + kColumn[k]) * in + i) / 2] = uint8_t((even >> 4 * k & 15) | (odd >> 4 * k & 15) << 4);
        }
        for (int64_t g = 0; g < groups; ++g)
          for (int k = 0; k < 8; ++k)
            middles[(j * 8 + kColumn[k]) * groups + g] = int8_t(int(zero[g * (out / 8) + j] >> 4 * k & 15) - 8);
      }
    });
    transpose(p.get(scales), fill.plane("scales"));
    return fill.tensor;
  });
}

std::vector<PackedWeight> find_awq(const Names& names, const json& config) {
  const std::string version = word_of(config, "version", "gemm");
  const int64_t bits = integer_of(config, "bits", integer_of(config, "w_bit", 4, 1, 64), 1, 64);
  DY_CHECK_AS(ValueError, (version == "gemm" || version == "GEMM") && bits == 4,
              "{}: AWQ's version {} with {} bits; what is read is gemm with 4", names.file.path(), quote_name(version), bits);
  std::vector<PackedWeight> all;
  for (const std::string& stem : names.before(".qweight")) all.push_back(weight(names, stem));
  return all;
}

NamedTensors pack_awq(const std::string& name, const Tensor& w, const json& config, const NamedTensors&) {
  if (w.dim() != 2 || !name.ends_with(".weight") || !w.is_contiguous()) return {};
  const int64_t out = w.size(0), in = w.size(1), given = integer_of(config, "group_size", 128, -1, 1 << 24);
  const IntegerKind k = integer_kind(w.dtype(), in);
  const int64_t group = std::min(k.group, in);
  if (k.bits != 4 || k.ordered || out % 8 || in % group || group % 2 || group != (given < 0 ? in : std::min(given, in)))
    return {};
  const Tensor zeros = zeros_of(w), scales = plane_of(w, "scales").view({out, -1});
  const int64_t groups = in / group;
  const Tensor words = dyadic::zeros({in, out / 8}, i32), zero_words = dyadic::zeros({groups, out / 8}, i32);
  const Tensor turned = make_tensor({groups, out}, scales.dtype(), cpu);
  transpose(scales, turned.data_ptr());
  const Tensor bytes = plane_of(w, "codes");
  const auto* codes = elements_of<uint8_t>(bytes);
  auto *to = static_cast<uint32_t*>(words.data_ptr()), *zero = static_cast<uint32_t*>(zero_words.data_ptr());
  parallel_for(out / 8, 4096 / in + 1, [&](int64_t begin, int64_t end) {
    for (int64_t j = begin; j < end; ++j)
      for (int64_t c = 0; c < 8; ++c) {
        const int64_t o = j * 8 + kColumn[c];
        for (int64_t i = 0; i < in; ++i)
          to[i * (out / 8) + j] |= uint32_t((codes[(o * in + i) / 2] >> i % 2 * 4 & 15) ^ 8) << 4 * c;
        for (int64_t g = 0; g < groups; ++g)
          zero[g * (out / 8) + j] |= uint32_t(elements_of<int8_t>(zeros)[o * groups + g] + 8) << 4 * c;
      }
  });
  return {{beside(name, "qweight"), words}, {beside(name, "qzeros"), zero_words}, {beside(name, "scales"), turned}};
}

json describe_awq(DType dtype) {
  const IntegerKind k = integer_kind(dtype, -1);
  if (k.bits != 4 || k.ordered) return nullptr;
  return {
      {"bits", 4}, {"group_size", k.group}, {"version", "gemm"}, {"zero_point", true}, {"modules_to_not_convert", {"lm_head"}}};
}

}  // namespace

extern constexpr Packing awq_packing = {"awq", find_awq, pack_awq, describe_awq};

}  // namespace dyadic::inline v1::io
