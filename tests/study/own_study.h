// A small model, its points and their losses, for the tests of studies of one's own.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "dyadic/nn_layers.h"
#include "dyadic/study.h"

namespace dyadic::inline v1::study {

namespace fs = std::filesystem;
using data::Value;
using nlohmann::json;

struct StudyFolder {
  std::string path;
  StudyFolder() {
    path = (fs::temp_directory_path() / "dyadic_study_XXXXXX").native();
    if (!mkdtemp(path.data())) std::abort();
  }
  ~StudyFolder() { fs::remove_all(path); }
  std::string operator/(const char* name) const { return path + "/" + name; }
};

struct Net : nn::Module {
  nn::Linear in{16, 64}, middle{64, 64}, out{64, 4};
  nn::BatchNorm1d norm{64};
  explicit Net(nn::Options o = {})
      : in(16, 64, true, o), middle(64, 64, true, o), out(64, 4, true, o), norm(64, {.dtype = o.dtype, .device = o.device}) {
    add("in", in), add("norm", norm), add("middle", middle), add("out", out);
  }
  Tensor forward(const Tensor& x) override { return out(relu(middle(relu(norm(in(x)))))); }
  const char* kind() const override { return "Net"; }
};

// Four classes of points, each about a corner of its own.
inline std::shared_ptr<data::TensorDataset> points() {
  Generator g(3);
  const Tensor y = randint(0, 4, {400}, g, i64), corners = randn({4, 16}, g);
  return std::make_shared<data::TensorDataset>(std::vector{index_select(corners, 0, y) + randn({400, 16}, g) * 0.5, y});
}
inline Tensor losses(nn::Module& model, const Value& batch) { return cross_entropy(model(batch[0]), batch[1], "none"); }
inline std::shared_ptr<nn::Module> make() { return std::make_shared<Net>(); }

inline StudyOptions small(const std::string& out) {
  return {.metric = accuracy(),
          .tolerance = 0.05,
          .steps = 60,
          .recipes = {recipe("bf16"), recipe("f16"), recipe("pure-bf16-sr")},
          .formats = {"bf16", "q8_0", "nf4"},
          .out = out,
          .progress = false};
}

struct Loader {
  data::DataLoader loader{points(), {.batch_size = 32, .shuffle = true}};
};

inline json without_times(const Study& s) {
  json j = json::parse(s.json());
  j.erase("seconds"), j.erase("machine"), j.erase("recommendation");
  j["model"].erase("flops_per_step");
  for (const char* list : {"recipes", "formats"})
    for (json& r : j[list])
      for (const char* key :
           {"step_ms", "tokens_per_s", "flops_per_s", "mfu", "flops_peak", "resident_peak", "step_spread", "sampling"})
        r.erase(key);
  return j;
}

}  // namespace dyadic::inline v1::study
