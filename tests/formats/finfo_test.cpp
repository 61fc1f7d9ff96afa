// finfo and iinfo to the letter: lines that PyTorch 2.15 printed; for dtypes it lacks, ml_dtypes 0.6's values in that layout.
#include "dyadic/finfo.h"

#include <gtest/gtest.h>

#include "dyadic/error.h"

namespace dyadic {
namespace {

TEST(Limits, PrintAsPyTorchPrintsThem) {
  for (const char* line : {
           "finfo(resolution=1e-15, min=-1.79769e+308, max=1.79769e+308, eps=2.22045e-16, smallest_normal=2.22507e-308, "
           "tiny=2.22507e-308, dtype=float64)",
           "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, smallest_normal=1.17549e-38, "
           "tiny=1.17549e-38, dtype=float32)",
           "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, smallest_normal=6.10352e-05, tiny=6.10352e-05, "
           "dtype=float16)",
           "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, smallest_normal=1.17549e-38, "
           "tiny=1.17549e-38, dtype=bfloat16)",
           "finfo(resolution=1, min=-448, max=448, eps=0.125, smallest_normal=0.015625, tiny=0.015625, dtype=float8_e4m3fn)",
           "finfo(resolution=1, min=-57344, max=57344, eps=0.25, smallest_normal=6.10352e-05, tiny=6.10352e-05, "
           "dtype=float8_e5m2)",
           "finfo(resolution=1, min=-240, max=240, eps=0.125, smallest_normal=0.0078125, tiny=0.0078125, "
           "dtype=float8_e4m3fnuz)",
           "finfo(resolution=1, min=-57344, max=57344, eps=0.25, smallest_normal=3.05176e-05, tiny=3.05176e-05, "
           "dtype=float8_e5m2fnuz)",
           "finfo(resolution=1, min=5.87747e-39, max=1.70141e+38, eps=1, smallest_normal=5.87747e-39, tiny=5.87747e-39, "
           "dtype=float8_e8m0fnu)",
           // ml_dtypes'
           "finfo(resolution=0.09375, min=-15.5, max=15.5, eps=0.0625, smallest_normal=0.25, tiny=0.25, dtype=float8_e3m4)",
           "finfo(resolution=1, min=-7.5, max=7.5, eps=0.125, smallest_normal=1, tiny=1, dtype=float6_e2m3fn)",
           "finfo(resolution=1, min=-28, max=28, eps=0.25, smallest_normal=0.25, tiny=0.25, dtype=float6_e3m2fn)",
           "finfo(resolution=1, min=-6, max=6, eps=0.5, smallest_normal=1, tiny=1, dtype=float4_e2m1fn)",
       }) {
    const std::string text = line, name = text.substr(text.rfind('=') + 1, text.size() - text.rfind('=') - 2);
    EXPECT_EQ(finfo(DType::parse(name)).str(), text);
  }
  for (const char* line : {
           "iinfo(min=0, max=255, dtype=uint8)",
           "iinfo(min=-128, max=127, dtype=int8)",
           "iinfo(min=0, max=65535, dtype=uint16)",
           "iinfo(min=-32768, max=32767, dtype=int16)",
           "iinfo(min=0, max=4.29497e+09, dtype=uint32)",
           "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)",
           "iinfo(min=-9.22337e+18, max=9.22337e+18, dtype=int64)",
           "iinfo(min=-8, max=7, dtype=int4)",
           "iinfo(min=0, max=1, dtype=uint1)",
       }) {
    const std::string text = line, name = text.substr(text.rfind('=') + 1, text.size() - text.rfind('=') - 2);
    EXPECT_EQ(iinfo(DType::parse(name)).str(), text);
  }
}

TEST(Limits, Values) {
  EXPECT_EQ(finfo(bf16).smallest_subnormal, 0x1p-133);
  EXPECT_EQ(finfo(f32).bits, 32);
  EXPECT_EQ(iinfo(i64).min, INT64_MIN);
  EXPECT_EQ(iinfo(i64).max, uint64_t(INT64_MAX));
  EXPECT_THROW(finfo(i8), TypeError);
  EXPECT_THROW(finfo(nf4), TypeError);
  EXPECT_THROW(iinfo(f32), TypeError);
  EXPECT_THROW(iinfo(boolean), TypeError);
}

}  // namespace
}  // namespace dyadic
