// Names of a model's tensors, from its folder into GGUF and back.
#include <fmt/format.h>

#include "tests/models/gguf_models.h"

namespace dyadic::testing {
namespace {

using namespace models;

// Whatever a model's names begin with, and BERT's of its time, are in the folder that comes back.
TEST(GgufModel, NamesComeBack) {
  using Rename = std::string (*)(std::string);
  const std::tuple<const char*, const char*, Rename> cases[] = {
      {"bert", "bert.", [](std::string name) { return name; }},
      {"bert", "bert.",
       [](std::string name) {
         if (name.ends_with("LayerNorm.weight")) return name.substr(0, name.size() - 6) + "gamma";
         return name.ends_with("LayerNorm.bias") ? name.substr(0, name.size() - 4) + "beta" : name;
       }},
      {"gemma3", "", [](std::string name) { return "language_model." + name; }},
      {"mixtral", "", [](std::string name) { return "language_model." + name; }},
      {"llama", "model.", [](std::string name) { return name.substr(6); }},
      {"gpt2", "transformer.", [](std::string name) { return name.substr(12); }}};
  int number = 0;
  for (auto& [family, beginning, rename] : cases) {
    Folder folder;
    write_changed(family, folder / "model", [&](io::NamedTensors& all) {
      std::erase_if(all, [&](auto& item) { return !item.first.starts_with(beginning); });
      for (auto& [name, t] : all) name = rename(name);
    });
    convert(folder / "model", folder / "model.gguf"), convert(folder / "model.gguf", folder / "back");
    SCOPED_TRACE(fmt::format("{} {}", family, number++));
    expect_same_files(folder / "model/model.safetensors", folder / "back/model.safetensors");
    const Tensor ids = ids_of(family);
    if (std::string_view(family) == "llama") continue;  // whose head went with its body's beginning
    EXPECT_LT(
        apart(models::load(folder / "model.gguf", {.dtype = f32})(ids), models::load(folder / "back", {.dtype = f32})(ids)),
        1e-6);
  }
}

TEST(GgufModel, TwoTensorsOfOneName) {
  Folder folder;
  convert(model_data("llama"), folder / "a.gguf");
  const auto whole = io::GgufFile::open(folder / "a.gguf");
  io::GgufMetadata keys = whole->values();
  keys.emplace_back("dyadic.names", io::GgufArray(std::vector<std::string>{"model.norm.weight", "lm_head.weight", "odd"}));
  io::save_gguf(folder / "b.gguf", whole->tensors(), [&](size_t i) { return whole->get(i); }, keys);
  try {
    models::load(folder / "b.gguf");
    FAIL();
  } catch (const ValueError& e) {
    EXPECT_NE(std::string(e.what()).find("another tensor has the name that it is to have"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace dyadic::testing
