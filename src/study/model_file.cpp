#include "study/model_file.h"

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace dyadic::inline v1::study {
namespace {

models::GptConfig parse_config(const std::string& path, const std::string& text) {
  auto j = nlohmann::json::parse(text, nullptr, false);
  models::GptConfig c;
  // Beyond these no weights could be in the file, and building the model would take forever.
  std::tuple<const char*, int64_t*, int64_t> fields[] = {{"vocab", &c.vocab, 1 << 24},
                                                         {"block", &c.block, 1 << 24},
                                                         {"layers", &c.layers, 1 << 12},
                                                         {"heads", &c.heads, 1 << 16},
                                                         {"width", &c.width, 1 << 16}};
  for (auto& [name, out, most] : fields) {
    bool there = j.is_object() && j.contains(name) && j[name].is_number_integer();
    *out = there ? j[name].get<int64_t>() : 0;
    DY_CHECK_AS(ValueError, *out >= 1 && *out <= most,
                "model {}: its metadata gives no usable \"{}\"; was it written by dyadic train?", path, name);
  }
  c.bias = j.value("bias", true);
  return c;
}

}  // namespace

io::Metadata model_metadata(const models::GptConfig& c, const std::string& preset, const Vocabulary& vocabulary) {
  return {{"model", fmt::format(R"({{"vocab":{},"block":{},"layers":{},"heads":{},"width":{},"bias":{}}})", c.vocab, c.block,
                                c.layers, c.heads, c.width, c.bias)},
          {"preset", preset},
          {"vocabulary", vocabulary.save()}};
}

TrainedModel load_model(const std::string& given) {
  TrainedModel t;
  std::error_code ignored;
  t.path =
      std::filesystem::is_directory(given, ignored) ? (std::filesystem::path(given) / "model.safetensors").native() : given;
  CategoryScope scope(Category::parameter);
  io::SafeTensors file = io::load_safetensors(t.path);
  for (const char* key : {"model", "vocabulary"})
    DY_CHECK_AS(ValueError, file.metadata.count(key),
                "model {}: its metadata has no \"{}\": a file written by dyadic train or dyadic study is needed", t.path, key);
  models::GptConfig config = parse_config(t.path, file.metadata["model"]);
  t.vocabulary = Vocabulary::parse(file.metadata["vocabulary"]);
  t.preset = file.metadata["preset"];
  DY_CHECK_AS(ValueError, t.vocabulary.size() <= config.vocab, "model {}: its vocabulary has {} tokens, its embedding {} rows",
              t.path, t.vocabulary.size(), config.vocab);
  t.model = std::make_unique<models::Gpt>(config, nn::Options{f32, meta});
  std::map<std::string, Tensor> given_tensors(file.tensors.begin(), file.tensors.end());
  for (auto& [name, p] : t.model->named_parameters()) {
    auto it = given_tensors.find(name);
    DY_CHECK_AS(ValueError, it != given_tensors.end(), "model {}: tensor \"{}\" is missing", t.path, name);
    t.model->set_parameter(name, it->second);
  }
  t.model->eval();
  return t;
}

}  // namespace dyadic::inline v1::study
