// The types of ggml that files name by number, and which dtype each is. Numbers and sizes are ggml's (ggml.h, ggml-common.h).
#include "formats/format.h"
#include "io/gguf.h"
#include "io/quantized/rearranged.h"

namespace dyadic::inline v1::io {
namespace {

DType dtype(const char* name) { return DType::parse(name); }

const std::vector<GgmlType>& types() {
  static const std::vector<GgmlType> all = {
      {0, "F32", 1, 4, f32},
      {1, "F16", 1, 2, f16},
      {2, "Q4_0", 32, 18, q4_0},
      {3, "Q4_1", 32, 20, q4_1},
      {4, "Q4_2", 0, 0, {}},
      {5, "Q4_3", 0, 0, {}},
      {6, "Q5_0", 32, 22, q5_0},
      {7, "Q5_1", 32, 24, q5_1},
      {8, "Q8_0", 32, 34, q8_0},
      {9, "Q8_1", 32, 36, {}},
      {10, "Q2_K", 256, 84, q2_K},
      {11, "Q3_K", 256, 110, q3_K},
      {12, "Q4_K", 256, 144, q4_K},
      {13, "Q5_K", 256, 176, q5_K},
      {14, "Q6_K", 256, 210, q6_K},
      {15, "Q8_K", 256, 292, q8_K},
      {16, "IQ2_XXS", 256, 66, iq2_xxs},
      {17, "IQ2_XS", 256, 74, iq2_xs},
      {18, "IQ3_XXS", 256, 98, iq3_xxs},
      {19, "IQ1_S", 256, 50, iq1_s},
      {20, "IQ4_NL", 32, 18, iq4_nl},
      {21, "IQ3_S", 256, 110, iq3_s},
      {22, "IQ2_S", 256, 82, iq2_s},
      {23, "IQ4_XS", 256, 136, iq4_xs},
      {24, "I8", 1, 1, i8},
      {25, "I16", 1, 2, i16},
      {26, "I32", 1, 4, i32},
      {27, "I64", 1, 8, i64},
      {28, "F64", 1, 8, f64},
      {29, "IQ1_M", 256, 56, iq1_m},
      {30, "BF16", 1, 2, bf16},
      {31, "Q4_0_4_4", 0, 0, {}},
      {32, "Q4_0_4_8", 0, 0, {}},
      {33, "Q4_0_8_8", 0, 0, {}},
      {34, "TQ1_0", 256, 54, tq1_0},
      {35, "TQ2_0", 256, 66, tq2_0},
      {36, "IQ4_NL_4_4", 0, 0, {}},
      {37, "IQ4_NL_4_8", 0, 0, {}},
      {38, "IQ4_NL_8_8", 0, 0, {}},
      {39, "MXFP4", 32, 17, mxfp4},
      {kNvfp4, "NVFP4", 64, 36, nvfp4},
      {41, "Q1_0", 128, 18, dtype("q1_0")},
      {42, "Q2_0", 64, 18, dtype("q2_0")},
  };
  return all;
}

bool is_integers(DType d) { return d.format()->def->name[0] == 'i' || d.format()->def->name[0] == 'u'; }

}  // namespace

const GgmlType* find_ggml_type(uint32_t number) { return number < types().size() ? &types()[number] : nullptr; }
const GgmlType* find_ggml_type(DType dtype) {
  for (const GgmlType& t : types())
    if (t.dtype && t.dtype == dtype) return &t;
  return nullptr;
}

DType nearest_ggml_dtype(DType d, int64_t columns) {
  const auto fits = [&](DType to) { return columns % find_ggml_type(to)->elements == 0; };
  if (find_ggml_type(d)) return fits(d) ? d : f32;
  if (!d.is_scaled()) return d.is_floating_point() || d.format()->def->kind == Kind::floating ? (d.bits() < 16 ? f16 : d) : d;
  const Format& f = *d.format();
  const std::string_view name = f.def->name;
  if (name == "i2" && f.params.granularity == Granularity::tensor && !f.params.zero && fits(tq2_0)) return tq2_0;  // BitNet's
  const DType kept = blocks_for(d), near = kept ? kept : q8_0;
  return fits(near) ? near : f32;
}

std::string why_nearest_ggml(DType d, DType to) {
  const std::string none = find_ggml_type(d) ? "" : fmt::format("ggml has no {}", d.name());
  if (to == f32)
    return fmt::format("{}its rows are no whole blocks of a type that ggml has", none.empty() ? "" : none + ", and ");
  if (to == blocks_for(d) || to == tq2_0) return fmt::format("{}; {} has its codes", none, to.name());
  const bool table = d.bits() <= 4 && !blocks_for(d) && !is_integers(d);
  return fmt::format("{}; {} is the nearest: at most 1/254 of a block's largest off{}", none, to.name(),
                     table ? " (iq4_nl, of half the size: 1/11)" : "");
}

}  // namespace dyadic::inline v1::io
