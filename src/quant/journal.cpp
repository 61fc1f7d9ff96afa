// A run's finished stages as files: a safetensors file each, the report in its metadata, written whole or not at all.
#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "base/json.h"
#include "dyadic/io.h"
#include "dyadic/quant.h"

namespace dyadic::inline v1::quant {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

Json json_of(const std::vector<LayerReport>& layers) {
  Json all = Json::array();
  for (const LayerReport& l : layers)
    all.push_back({l.name, l.format.name(), l.error, l.error_rtn, l.seconds, l.fallback, l.note});
  return all;
}
std::vector<LayerReport> layers_of(const Json& all) {
  std::vector<LayerReport> layers;
  for (const Json& l : all)
    layers.push_back({l.at(0), DType::parse(l.at(1).get<std::string>()), l.at(2), l.at(3), l.at(4), l.at(5), l.at(6)});
  return layers;
}

}  // namespace

Journal::~Journal() = default;

FolderJournal::FolderJournal(std::string folder, std::string key, bool resume)
    : folder_(std::move(folder)), key_(std::move(key)) {
  if (!resume) remove();
  std::error_code error;
  fs::create_directories(folder_, error);
  DY_CHECK(!error, "{}: cannot be made: {}", folder_, error.message());
}
std::string FolderJournal::path_of(const std::string& stage) const {
  std::string name = stage;
  std::replace(name.begin(), name.end(), '/', '_');
  return folder_ + "/" + name + ".safetensors";
}

bool FolderJournal::read(const std::string& stage, nn::NamedTensors& parameters, std::vector<LayerReport>& layers) {
  const std::string path = path_of(stage);
  if (!fs::exists(path)) return false;
  const io::SafeTensors file = io::load_safetensors(path);
  const auto entry = [&](const char* name) {
    const auto it = file.metadata.find(name);
    return it == file.metadata.end() ? std::string() : it->second;
  };
  DY_CHECK(entry("key") == key_, "{}: it is of another run: \"{}\", and this one is \"{}\"; begin anew without resuming", path,
           entry("key"), key_);
  try {
    layers = layers_of(parse_json(entry("layers")));
  } catch (const Json::exception& e) { fail("{}: the layers' report cannot be read: {}", path, e.what()); }
  for (auto& [name, t] : file.tensors) parameters.emplace_back(name, t);
  return true;
}
void FolderJournal::write(const std::string& stage, const nn::NamedTensors& parameters,
                          const std::vector<LayerReport>& layers) {
  io::save_safetensors(path_of(stage), parameters, {{"key", key_}, {"layers", dump_json(json_of(layers))}});
}
void FolderJournal::remove() {
  std::error_code error;
  fs::remove_all(folder_, error);
  DY_CHECK(!error, "{}: cannot be removed: {}", folder_, error.message());
}

}  // namespace dyadic::inline v1::quant
