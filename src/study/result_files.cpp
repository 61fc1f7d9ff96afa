#include "study/result_files.h"

#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "dyadic/io.h"
#include "dyadic/ops.h"
#include "io/atomic_file.h"
#include "study/report_json.h"

namespace dyadic::inline v1::study {

void save_losses(const std::string& file, const Evaluation& e) {
  nn::NamedTensors tensors = {{"losses", from_data(e.losses.data(), {int64_t(e.losses.size())}, f32)}};
  if (!e.values.empty()) tensors.emplace_back("metric", from_data(e.values.data(), {int64_t(e.values.size())}, f64));
  io::save_safetensors(file, tensors);
}

Evaluation load_losses(const std::string& file, bool metric, size_t items) {
  Evaluation e;
  for (auto& [name, t] : io::load_safetensors(file).tensors) {
    if (name == "losses" && t.dtype() == f32) e.losses.assign(t.data<float>(), t.data<float>() + t.numel());
    if (name == "metric" && t.dtype() == f64) e.values.assign(t.data<double>(), t.data<double>() + t.numel());
  }
  DY_CHECK(!e.losses.empty() && e.values.empty() != metric && (!items || e.losses.size() == items),
           "{}: not this study's losses; delete it and resume again", file);
  return e;
}

void save_results(const std::string& file, const StudyResult& result) { io::write_whole("study", file, report_json(result)); }

void take_results(StudyResult& result, const std::function<std::string(const std::string&)>& file_of) {
  for (RecipeResult& r : result.recipes) {
    if (r.status == Status::done || r.status == Status::stopped || !std::filesystem::exists(file_of(r.name))) continue;
    std::ifstream in(file_of(r.name));
    for (RecipeResult& found : parse_report(std::string(std::istreambuf_iterator<char>(in), {})).recipes)
      if (found.name == r.name) r = std::move(found);
  }
}

}  // namespace dyadic::inline v1::study
