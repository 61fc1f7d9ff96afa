// Models quantized here, written in the packings of other tools.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dyadic/io.h"
#include "dyadic/models.h"
#include "tests/io/helpers.h"
#include "tests/models/apart.h"
#include "tests/models/small_model.h"

namespace dyadic::testing {
namespace {

using nlohmann::json;

// What is decoded has the dtype of what was never quantized: the model runs.
TEST(QuantizedSaving, DecodesToTheModelsOwnDtype) {
  const NoGrad guard;
  const Folder there;
  models::Model m = models::load(small_model(), {.dtype = bf16});
  m->to(q4_0);
  m->save_pretrained(there / "out", 50'000'000'000, "gptq");
  models::Model again = models::load(there / "out");
  EXPECT_EQ(again->named_parameters()["model.embed_tokens.weight"].dtype(), bf16);
  const Tensor ids = arange(1, 9, 1, i64).view({1, 8});
  EXPECT_LE(apart(again(ids).to(f32), m(ids).to(f32)), 0.05);
}

// A model quantized here, written for other tools: linear layers to the bit, the embedding and the head decoded.
TEST(QuantizedSaving, InAPackingThatIsAskedFor) {
  const struct {
    const char *packing, *dtype;
  } cases[] = {{"gptq", "i4(group=32,scale=f16)"},
               {"gptq", "i8(group=32,zero,scale=f16)"},
               {"awq", "i4(group=32,zero,scale=f16)"},
               {"bitsandbytes", "nf4(block=64,double)"},
               {"bitsandbytes", "fp4(block=64)"},
               {"bitsandbytes", "i8(row)"},
               {"fp8", "f8e4m3fn(tile=64x64)"},
               {"fp8", "mxfp8_e4m3"},
               {"compressed-tensors", "nvfp4"},
               {"compressed-tensors", "i4(group=32,zero,scale=bf16)"},
               {"compressed-tensors", "f8e4m3fn(row)"},
               {"gptq", "q4_0"},
               {"gptq", "q8_0"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.packing) + " " + c.dtype);
    const Folder there;
    const DType dtype = DType::parse(c.dtype);
    models::Model m = models::load(small_model(), {.dtype = dtype});
    m->save_pretrained(there / "out", 50'000'000'000, c.packing);
    EXPECT_EQ(json::parse(text_of_file(there / "out/config.json"))["quantization_config"]["quant_method"], c.packing);
    models::Model again = models::load(there / "out");
    auto want = m->named_parameters(), got = again->named_parameters();
    for (auto& [key, t] : want) {
      if (key.ends_with("_proj.weight"))
        EXPECT_EQ(got[key].dtype(), dtype == q4_0   ? DType::parse("i4(group=32,scale=f16)")
                                    : dtype == q8_0 ? DType::parse("i8(group=32,scale=f16)")
                                                    : dtype)
            << key;
      else
        EXPECT_FALSE(got[key].dtype().is_scaled()) << key;
      const Tensor is = got[key].to(f32), was = t.to(f32);
      if (dtype == nvfp4) {
        EXPECT_LE(apart(is, was), 2e-7) << key;  // its whole scale is kept as the inverse
      } else {
        EXPECT_TRUE(equal(is, was)) << key;
      }
    }
  }
}
TEST(QuantizedSaving, SaysWhatHasNoPlace) {
  const Folder there;
  const auto said = [&](const char* packing, const char* dtype) -> std::string {
    try {
      models::load(small_model(), {.dtype = DType::parse(dtype)})->save_pretrained(there / "out", 1 << 30, packing);
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  EXPECT_EQ(said("gptq", "q4_1"), "packing gptq: it has no place for q4_1");
  EXPECT_EQ(said("awq", "i8(group=32)"), "packing awq: it has no place for i8(group=32)");
  EXPECT_EQ(said("gptq", "f32"), "packing gptq: no weight has scales; quantize the model first");
  EXPECT_EQ(said("mlx", "i4(group=32)"), "packing \"mlx\" is none of bitsandbytes, gptq, awq, fp8, compressed-tensors");
  EXPECT_FALSE(std::filesystem::exists(there / "out"));
}

}  // namespace
}  // namespace dyadic::testing
