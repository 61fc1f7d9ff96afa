#include "quant/targets.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/pattern.h"
#include "dyadic/autograd.h"
#include "formats/packed.h"
#include "nn/stored.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::quant {
namespace {

bool fits_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](auto& p) { return matches(p, name); });
}

[[noreturn]] void refuse_pattern(const nn::Module& model, const std::string& pattern, DType format) {
  for (auto& [name, t] : model.named_parameters())
    if (matches(pattern, name)) {
      const int64_t step = format.format()->row_step();
      fail<ValueError>(
          "quantize: {} cannot be {}: it is {}; that is for matrices that products or lookups read, of rows with {}", name,
          format.name(), describe(t),
          step > 1 ? fmt::format("a multiple of {} elements", step)
                   : fmt::format("at least {} elements", std::max(format.format()->params.block, 1)));
    }
  fail<ValueError>("quantize: no parameter fits \"{}\"", pattern);
}

// A weight's format, and the pattern that says so; an undefined format where it stays.
std::pair<DType, std::string> format_of(const QuantizeOptions& o, const std::string& name) {
  for (auto& [pattern, format] : o.map)
    if (matches(pattern, name)) return {format, pattern};
  if (!takes(o.include, o.exclude, name)) return {};
  return {o.weights, ""};
}

class Recorder : public nn::Hook {
 public:
  std::vector<Call> calls;
  void after(nn::Module& m, const std::vector<Tensor>& inputs, std::vector<Tensor>& results) override {
    if (!inputs.empty() && !results.empty()) calls.push_back({&m, number(inputs[0]), number(results[0])});
  }

 private:
  size_t number(const Tensor& t) {
    const auto it = std::find_if(seen_.begin(), seen_.end(), [&](auto& s) { return s.is_same(t); });
    if (it == seen_.end()) return seen_.push_back(t), seen_.size() - 1;
    return size_t(it - seen_.begin());
  }
  std::vector<Tensor> seen_;  // held, so that no two have one address
};

}  // namespace

bool takes(const std::vector<std::string>& include, const std::vector<std::string>& exclude, std::string_view name) {
  return (include.empty() || fits_any(include, name)) && !fits_any(exclude, name);
}

std::string stage_of(const std::string& name) {
  for (size_t at = 0; at < name.size();) {
    const size_t end = std::min(name.find('.', at), name.size());
    if (std::all_of(name.begin() + int64_t(at), name.begin() + int64_t(end), [](char c) { return c >= '0' && c <= '9'; }))
      return name.substr(0, end);
    at = end + 1;
  }
  const size_t module = name.rfind('.'), parent = module == name.npos ? module : name.rfind('.', module - 1);
  return parent == name.npos ? "" : name.substr(0, parent);
}

std::vector<Target> find_targets(nn::Module& model, const QuantizeOptions& o) {
  std::map<std::string, nn::Module*> owners;
  for (auto& [path, m] : model.named_modules())
    for (auto& [name, slot] : m->own_parameters()) owners.try_emplace(path.empty() ? name : path + "." + name, m);
  std::map<const Format*, std::set<std::string>> possible;
  const auto can_be = [&](const std::string& name, DType format) {
    const auto [it, is_new] = possible.try_emplace(format.format());
    if (is_new)
      for (auto& [n, t] : nn::storable(model, format)) it->second.insert(n);
    return it->second.contains(name);
  };
  std::vector<Target> all;
  std::set<std::string> used;  // patterns
  for (auto& [name, t] : model.named_parameters()) {
    const auto [format, pattern] = format_of(o, name);
    if (!format) {
      used.insert(pattern);
      continue;
    }
    if (!can_be(name, format)) continue;
    used.insert(pattern);
    for (auto& p : o.include)
      if (matches(p, name)) used.insert(p);
    nn::Module* owner = owners.at(name);
    auto* linear = owner->as<nn::Linear>();
    std::string why;
    if (owner->as<nn::Embedding>())
      why = "its rows are looked up, not multiplied";
    else if (!linear || t.dim() != 2)
      why = fmt::format("inputs of {} are not seen", owner->kind());
    all.push_back({name, t, format, linear, nn::rows_are_filters(*owner), why, stage_of(name)});
  }
  for (auto& [pattern, format] : o.map)
    if (format && !used.contains(pattern)) refuse_pattern(model, pattern, format);
  for (auto& pattern : o.include)
    if (o.weights && !used.contains(pattern)) refuse_pattern(model, pattern, o.weights);
  DY_CHECK_AS(ValueError, !all.empty(),
              "quantize: no weight of {} is left to quantize: formats are for matrices that products or "
              "lookups read, and the patterns may leave out all of them",
              model.kind());
  return all;
}

Evaluating::Evaluating(nn::Module& model) {
  for (auto& [name, m] : model.named_modules())
    if (m->training()) training_.push_back(m), m->set_training(false);
}
Evaluating::~Evaluating() {
  for (nn::Module* m : training_) m->set_training(true);
}

int64_t bytes_in(const Tensor& weight, DType format, bool filters) {
  const int64_t cols = filters && weight.size(0) ? weight.numel() / weight.size(0) : weight.size(-1);
  return planes_of(*format.format(), {cols ? weight.numel() / cols : 0, cols}).bytes;
}
std::vector<Call> trace(nn::Module& model, Calibration& data) {
  const NoGrad guard;
  const auto recorder = std::make_shared<Recorder>();
  std::vector<std::unique_ptr<Watching>> watching;
  for (auto& [name, m] : model.named_modules())
    if (m != &model) watching.push_back(std::make_unique<Watching>(data, *m, recorder));
  data.sample(model);
  return std::move(recorder->calls);
}

}  // namespace dyadic::inline v1::quant
