// LoRA adapters in GGUF: what llama.cpp's own converter writes, and what computes the same.
#include "dyadic/adapters.h"
#include "tests/models/gguf_models.h"

namespace dyadic::testing {
namespace {

using namespace models;

std::string gguf_adapter_folder(const std::string& name) { return model_data("adapters/" + name); }
Tensor logits_with(const std::string& base, const std::string& adapter, const Tensor& ids) {
  const NoGrad guard;
  Model m = models::load(base, {.dtype = f32});
  load_adapter(*m, adapter);
  return m(ids);
}

TEST(GgufAdapters, AreLlamaCpps) {
  Folder folder;
  const std::string base = model_data("llama"), file = folder / "adapter.gguf";
  for (const io::Converted& t : models::convert(gguf_adapter_folder("plain"), file, {}, base))
    EXPECT_TRUE(t.difference.exact) << t.name;
  expect_llama_cpps(file, "adapter");
  const Tensor ids = ids_of("llama"), want = logits_with(base, gguf_adapter_folder("plain"), ids);
  EXPECT_GT(apart(want, models::load(base, {.dtype = f32})(ids)), 1e-2);
  EXPECT_TRUE(equal(logits_with(base, file, ids), want));
  models::convert(base, folder / "base.gguf");
  EXPECT_LT(apart(logits_with(folder / "base.gguf", file, ids), want), 1e-6);
  models::convert(file, folder / "back", {}, base);
  EXPECT_EQ(text_of_file(folder / "back/adapter_config.json"),
            text_of_file(gguf_adapter_folder("plain") + "/adapter_config.json"));
  expect_same_weights(gguf_adapter_folder("plain") + "/adapter_model.safetensors", folder / "back/adapter_model.safetensors");
  // Without the configuration that it carries, as llama.cpp's converter leaves it.
  strip(file, folder / "stripped.gguf");
  EXPECT_LT(apart(logits_with(base, folder / "stripped.gguf", ids), want), 1e-6);
}

TEST(GgufAdapters, OfTurnedMatricesStayAsTheyAre) {
  Folder folder;
  const std::string file = folder / "adapter.gguf";
  models::convert(gguf_adapter_folder("turned"), file, {}, model_data("gpt2"));
  const Tensor ids = ids_of("gpt2");
  EXPECT_TRUE(
      equal(logits_with(model_data("gpt2"), file, ids), logits_with(model_data("gpt2"), gguf_adapter_folder("turned"), ids)));
}

TEST(GgufAdapters, SayWhatHasNoPlace) {
  Folder folder;
  const auto said = [&](const std::string& name, const std::string& base) -> std::string {
    try {
      models::convert(name, folder / "out.gguf", {}, base);
    } catch (const ValueError& e) { return e.what(); }
    return "";
  };
  EXPECT_NE(said(gguf_adapter_folder("dora"), model_data("llama")).find("GGUF has no place for use_dora"), std::string::npos);
  EXPECT_NE(said(gguf_adapter_folder("plain"), "").find("give its path as base"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "out.gguf"));
  models::convert(gguf_adapter_folder("plain"), folder / "a.gguf", {}, model_data("llama"));
  Model other = models::load(model_data("qwen3"));
  EXPECT_THROW(load_adapter(*other, folder / "a.gguf"), ValueError);
  EXPECT_EQ(other->adapter, nullptr);
}

}  // namespace
}  // namespace dyadic::testing
