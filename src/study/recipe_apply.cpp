#include "study/recipe_apply.h"

#include <map>

#include "base/check.h"
#include "base/text.h"
#include "dyadic/amp.h"
#include "dyadic/ops.h"
#include "offload/spill.h"
#include "tensor/impl.h"
#include "tensor/resize.h"

namespace dyadic::inline v1::study {
namespace {

// * is any text, also none.
bool fits(std::string_view pattern, std::string_view text) {
  const size_t star = pattern.find('*');
  if (star == pattern.npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  for (size_t at = star; at <= text.size(); ++at)
    if (fits(pattern.substr(star + 1), text.substr(at))) return true;
  return false;
}

// The module itself, or one that holds it.
bool belongs(std::string_view pattern, std::string_view path) {
  for (;;) {
    if (fits(pattern, path)) return true;
    const size_t dot = path.rfind('.');
    if (dot == path.npos) return false;
    path = path.substr(0, dot);
  }
}

void convert(const Tensor& slot, DType dtype) {
  if (!slot.defined() || slot.dtype() != f32 || dtype == f32) return;
  CategoryScope scope(slot.impl()->storage->category);
  const Tensor stored = slot.detach().to(dtype);
  become_view(slot, offload::is_spilled(slot) ? offload::put_beside(slot, stored) : stored);
}

// Its forward runs without autocast. Switches rather than a scope: what throws leaves no scope behind, and the scope around it
// restores them.
class OwnPrecision : public nn::Hook {
  std::vector<bool> before_;

 public:
  void before(nn::Module&, std::vector<Tensor>&) override {
    before_.push_back(Autocast::enabled());
    Autocast::set_enabled(false);
  }
  void after(nn::Module&, const std::vector<Tensor>&, std::vector<Tensor>&) override {
    Autocast::set_enabled(before_.back());
    before_.pop_back();
  }
};

// What it is given has the dtype of its weights, as products ask for. Under autocast that is seen to.
class OwnInputs : public nn::Hook {
  DType dtype_;

 public:
  explicit OwnInputs(DType dtype) : dtype_(dtype) {}
  void before(nn::Module&, std::vector<Tensor>& inputs) override {
    if (Autocast::enabled()) return;
    for (Tensor& t : inputs)
      if (t.defined() && t.dtype().is_floating_point() && t.dtype() != dtype_) t = t.to(dtype_);
  }
};

}  // namespace

void check_recipe(const Recipe& r) {
  const auto trains = [&](const char* field, DType d) {
    DY_CHECK_AS(ValueError, d == f32 || d == bf16 || d == f16, "recipe {}: {} is {}: weights are trained in f32, bf16 or f16",
                recipe_name(r), field, d.name());
  };
  trains("parameters", r.parameters);
  for (auto& [pattern, dtype] : r.modules) trains(("modules: " + pattern).c_str(), dtype);
  DY_CHECK_AS(ValueError, !r.compute || r.compute == bf16 || r.compute == f16 || r.compute == f8e4m3fn,
              "recipe {}: compute is {}: autocast's precisions are bf16, f16 and f8e4m3fn", recipe_name(r), r.compute.name());
  DY_CHECK_AS(ValueError, r.rounding == "nearest" || r.rounding == "stochastic",
              "recipe {}: rounding is \"{}\": it is nearest or stochastic", recipe_name(r), r.rounding);
}

std::string recipe_name(const Recipe& r) {
  if (!r.name.empty()) return r.name;
  std::string name = r.parameters == f32 ? "" : "pure-" + r.parameters.name();
  const auto add = [&](const std::string& part) { name += (name.empty() ? "" : "-") + part; };
  if (r.compute) add(r.compute.name());
  if (r.scaler) add("scaled");
  if (r.rounding == "stochastic") add("sr");
  if (r.states != f32) add("states-" + r.states.name());
  for (auto& [pattern, dtype] : r.modules) add(pattern + "-" + dtype.name());
  return name.empty() ? "f32" : name;
}

void store_parameters(nn::Module& model, const Recipe& r) {
  NoGrad guard;
  std::map<std::string, int> met;
  for (auto& [path, module] : model.named_modules()) {
    DType dtype = r.parameters;
    const std::pair<std::string, DType>* own = nullptr;
    for (auto& entry : r.modules)
      if (belongs(entry.first, path)) own = &entry, ++met[entry.first], dtype = entry.second;
    for (auto* slots : {&module->own_parameters(), &module->own_buffers()})
      for (auto& [name, slot] : *slots) convert(*slot, dtype);
    if (own && fits(own->first, path)) module->add_hook(std::make_shared<OwnPrecision>());
    const bool mixed = r.parameters != f32 || !r.modules.empty();
    if (mixed && !module->own_parameters().empty()) module->add_hook(std::make_shared<OwnInputs>(dtype));
  }
  for (auto& [pattern, dtype] : r.modules)
    if (!met[pattern]) {
      std::vector<std::string> names;
      for (auto& [path, module] : model.named_modules())
        if (!path.empty()) names.push_back(path);
      const std::string close = nearest(pattern, names);
      fail<ValueError>("recipe {}: no module is called {}{}", recipe_name(r), pattern,
                       close.empty() ? "" : "; did you mean " + close + "?");
    }
}

}  // namespace dyadic::inline v1::study
