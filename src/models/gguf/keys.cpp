#include "models/gguf/keys.h"

#include <cmath>
#include <cstdlib>

#include "dyadic/ops.h"
#include "io/bad_file.h"

namespace dyadic::inline v1::models {

static double meant(double v) { return std::isfinite(v) ? std::strtod(fmt::format("{}", float(v)).c_str(), nullptr) : v; }

double KeyReader::real(const char* key) const { return meant(file_.number(prefix_ + key)); }
bool KeyReader::has_list(const char* key) const {
  return has(key) && std::holds_alternative<io::GgufArray>(file_.value(prefix_ + key));
}
bool KeyReader::flag(const char* key, bool otherwise) const {
  if (!has(key)) return otherwise;
  const io::GgufValue v = file_.value(prefix_ + key);
  if (const bool* b = std::get_if<bool>(&v)) return *b;
  io::bad(file_.path(), "key \"{}{}\": expected true or false", prefix_, key);
}
std::vector<int64_t> KeyReader::by_layer(const char* key, int64_t layers) const {
  if (!has_list(key)) return std::vector<int64_t>(size_t(layers), whole(key));
  const Tensor list = file_.numbers(prefix_ + key).to(i64);
  if (list.numel() < layers) io::bad(file_.path(), "key \"{}{}\": {} values of {} layers", prefix_, key, list.numel(), layers);
  std::vector<int64_t> all;
  for (int64_t i = 0; i < layers; ++i) all.push_back(list[i].item<int64_t>());
  return all;
}
const io::TensorInfo& KeyReader::tensor(const std::string& name) const {
  for (const io::TensorInfo& t : file_.tensors())
    if (t.name == name) return t;
  io::bad(file_.path(), "tensor {} is missing", io::quote_name(name));
}
json KeyReader::numbers_of_tensor(const std::string& name) const {
  const Tensor t = file_.get(name).to(f64).contiguous().reshape({-1});
  json all = json::array();
  for (int64_t i = 0; i < t.numel(); ++i) all.push_back(meant(t[i].item<double>()));
  return all;
}
std::optional<std::vector<bool>> KeyReader::windows(int64_t layers, int64_t every) const {
  constexpr char kPattern[] = "attention.sliding_window_pattern";
  std::vector<bool> all(static_cast<size_t>(layers));
  if (has_list(kPattern)) {
    const std::vector<int64_t> list = by_layer(kPattern, layers);
    for (size_t i = 0; i < all.size(); ++i) all[i] = list[i] != 0;
    return all;
  }
  every = whole(kPattern, every);
  if (every == 0) return {};
  for (int64_t i = 0; i < layers; ++i) all[size_t(i)] = (i + 1) % every != 0;
  return all;
}

void KeyWriter::put(const char* key, io::GgufValue v) {
  for (auto& [name, value] : keys)
    if (name == prefix_ + key) return void(value = std::move(v));
  keys.emplace_back(prefix_ + key, std::move(v));
}

}  // namespace dyadic::inline v1::models
