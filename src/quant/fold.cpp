// Scales of a layer's inputs, put into what comes before. Which module that is, and in what form it holds its factor, is not
// asked of the architecture: what stands before is tried, and kept where the model's result stays what it was.
#include <cmath>

#include "dyadic/autograd.h"
#include "quant/targets.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::quant {
namespace {

constexpr size_t kMostTries = 4;  // linear layers before the group that are tried

class Change {  // of parameters; taken back unless kept
  std::vector<std::pair<Tensor, Tensor>> before_;
  bool kept_ = false;

 public:
  void set(const Tensor& parameter, const Tensor& value) {
    before_.emplace_back(parameter.detach(), parameter.detach().clone());
    parameter.detach().copy_(value);
  }
  void keep() { kept_ = true; }
  ~Change() {
    if (!kept_)
      for (auto it = before_.rbegin(); it != before_.rend(); ++it) it->first.copy_(it->second);
  }
};

// The share of itself by which a result may move when the model's numbers are rounded anew.
double tolerance(const Tensor& weight) { return weight.dtype().bits() <= 16 ? 0.05 : 2e-3; }

bool is_plain(const Tensor& t) { return t.defined() && t.dtype().is_floating_point() && !t.dtype().is_blocked(); }

enum class Form { factor, from_one };  // a norm multiplies by weight, or by 1 + weight

void divide_results(Change& change, nn::Module& m, const Tensor& scale, Form form) {
  for (auto& [name, slot] : m.own_parameters()) {
    if (!slot->defined()) continue;
    const Tensor value = slot->detach().to(f32);
    const Tensor by = value.dim() == 2 ? unsqueeze(scale, 1) : scale;
    const bool shifted = form == Form::from_one && name == "weight";
    change.set(*slot, shifted ? (value + 1) / by - 1 : value / by);
  }
}

// Whether a module's results can be divided by way of its own parameters: a norm's of one dimension, a linear layer's rows.
bool can_divide(nn::Module& m, int64_t width) {
  const auto& own = m.own_parameters();
  if (own.empty() || !m.children().empty()) return false;
  const bool linear = m.as<nn::Linear>();
  for (auto& [name, slot] : own)
    if (slot->defined() && (!is_plain(*slot) || slot->size(0) != width || slot->dim() != (linear && name == "weight" ? 2 : 1)))
      return false;
  return true;
}

std::vector<nn::Module*> candidates(const std::vector<Call>& calls, nn::Module* consumer, int64_t width) {
  size_t at = 0;
  while (at < calls.size() && calls[at].module != consumer) ++at;
  std::vector<nn::Module*> all;
  if (at == calls.size()) return all;
  for (size_t i = at; i-- > 0;)  // what made the very tensor
    if (calls[i].output == calls[at].input) return can_divide(*calls[i].module, width) ? std::vector{calls[i].module} : all;
  for (size_t i = at; i-- > 0 && all.size() < kMostTries;)  // or what may have, by way of something between
    if (calls[i].module->as<nn::Linear>() && can_divide(*calls[i].module, width)) all.push_back(calls[i].module);
  return all;
}

}  // namespace

std::string fold(nn::Module& model, Calibration& data, const std::vector<Call>& calls, const Tensor& expected,
                 const std::vector<Target*>& group, const Tensor& scale) {
  const NoGrad guard;
  const double limit = tolerance(group[0]->weight) * max(abs(expected.to(f32))).item();
  for (nn::Module* before : candidates(calls, group[0]->linear, scale.size(0)))
    for (const Form form : {Form::factor, Form::from_one}) {
      if (form == Form::from_one && before->as<nn::Linear>()) continue;
      Change change;
      for (const Target* t : group) change.set(t->weight, t->weight.detach().to(f32) * scale);
      divide_results(change, *before, scale, form);
      const Tensor now = data.sample(model);
      if (!(max(abs(now.to(f32) - expected.to(f32))).item() <= limit)) continue;
      change.keep();
      for (auto& [name, m] : model.named_modules())
        if (m == before) return name;
    }
  return "";
}

}  // namespace dyadic::inline v1::quant
