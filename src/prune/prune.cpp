// A model's weights, a block after the other.
#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/clock.h"
#include "base/pattern.h"
#include "dyadic/autograd.h"
#include "dyadic/nn_layers.h"
#include "prune/methods.h"
#include "quant/catching.h"
#include "quant/targets.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::prune {
namespace {

struct Target {
  std::string name;
  Tensor weight, bias;  // bias may be undefined
  nn::Module* module;
  bool linear;
  std::string stage;
};

Tensor matrix_of(const Tensor& weight) { return weight.detach().flatten(1).to(f32).contiguous(); }

class Run {
  nn::Module& model_;
  const PruneOptions& o_;
  const Method& method_;
  const Scope scope_;
  std::vector<Target> targets_;
  Report report_;

 public:
  Run(nn::Module& model, const PruneOptions& o)
      : model_(model), o_(o), method_(method(o.method)), scope_(o.scope.value_or(method_.scope)) {
    DY_CHECK_AS(ValueError, o.calibration || !method_.needs_inputs,
                "prune: {} needs calibration data: give some, or take magnitude", o.method);
    DY_CHECK_AS(ValueError, scope_ != Scope::global || (!method_.needs_inputs && o.sparsity.of == 0),
                "prune: scope global compares weights of all layers, which magnitude alone does, and to no N:M pattern");
    find();
    for (const Target& t : targets_) {
      DY_CHECK_AS(ValueError, !t.weight.dtype().is_scaled(), "prune: {} is {}: prune first and quantize then", t.name,
                  t.weight.dtype().name());
      const int64_t width = t.weight.numel() / t.weight.size(0);
      DY_CHECK_AS(ValueError, o.sparsity.of == 0 || scope_ == Scope::whole_rows || width % o.sparsity.of == 0,
                  "prune: {}:{} needs rows of a multiple of {}: {} is {}; exclude it", o.sparsity.zeros, o.sparsity.of,
                  o.sparsity.of, t.name, describe(t.weight));
    }
  }

  Report run() {
    const NoGrad guard;
    const quant::Evaluating evaluating(model_);
    if (scope_ == Scope::global)
      all_together();
    else
      for (size_t begin = 0; begin < targets_.size();) {
        size_t end = begin + 1;
        while (end < targets_.size() && targets_[end].stage == targets_[begin].stage) ++end;
        run_stage(begin, end);
        begin = end;
      }
    for (auto& [name, t] : model_.named_parameters()) {
      report_.parameters += t.numel();
      if (!t.dtype().is_scaled()) report_.zeros += t.numel() - sum(ne(t.detach(), 0).to(i64)).item<int64_t>();
    }
    report_.bytes = model_.nbytes();
    return std::move(report_);
  }

 private:
  void find() {
    std::set<std::string> used;
    std::set<const TensorImpl*> seen;
    for (auto& [path, m] : model_.named_modules()) {
      if (!m->is_matrix("weight") || m->as<nn::Embedding>()) continue;
      Tensor weight, bias;
      for (auto& [name, slot] : m->own_parameters()) (name == "weight" ? weight : name == "bias" ? bias : weight) = *slot;
      const std::string name = path.empty() ? "weight" : path + ".weight";
      if (!weight.defined() || weight.dim() < 2 || !seen.insert(weight.impl()).second) continue;
      for (auto& p : o_.include)
        if (matches(p, name)) used.insert(p);
      if (!quant::takes(o_.include, o_.exclude, name)) continue;
      targets_.push_back({name, weight, bias, &*m, m->as<nn::Linear>() != nullptr, quant::stage_of(name)});
    }
    for (auto& p : o_.include)
      DY_CHECK_AS(ValueError, used.contains(p), "prune: no weight of a linear layer or convolution fits \"{}\"", p);
    DY_CHECK_AS(ValueError, !targets_.empty(),
                "prune: no weight of {} is left to prune: it is for linear layers and convolutions", model_.kind());
  }

  void run_stage(size_t begin, size_t end) {
    std::map<size_t, quant::Inputs> inputs;
    if (o_.calibration) {
      std::vector<std::unique_ptr<quant::Watching>> watching;
      for (size_t i = begin; i < end; ++i)
        if (targets_[i].linear)
          watching.push_back(std::make_unique<quant::Watching>(
              *o_.calibration, *targets_[i].module, std::make_shared<quant::Catcher>("prune", inputs[i], targets_[i].name)));
      if (!watching.empty()) o_.calibration->run(model_);
    }
    for (size_t i = begin; i < end; ++i) one(i, inputs[i]);
  }

  void one(size_t i, const quant::Inputs& caught) {
    const Target& t = targets_[i];
    if (o_.progress) o_.progress(o_.context, i, targets_.size(), t.name);
    const double start = seconds_now();
    const quant::Inputs* inputs = caught.rows() > 0 ? &caught : nullptr;
    const Tensor w = matrix_of(t.weight);
    std::string fallback;
    if (method_.needs_inputs && !inputs)
      fallback =
          t.linear ? "no row of the calibration data reached it" : fmt::format("inputs of {} are not seen", t.module->kind());
    const Method& m = fallback.empty() ? method_ : method("magnitude");
    const Task task{t.name, w, inputs, o_.sparsity, scope_};
    const Tensor made = pruned(m, task);
    const Tensor plain = &m == &method("magnitude") ? made : pruned(method("magnitude"), task);
    store(t, made);
    report_.layers.push_back({t.name, zeros_in(made), quant::output_error(w, made, inputs),
                              quant::output_error(w, plain, inputs), seconds_now() - start, fallback});
  }

  // The smallest of all matrices together.
  void all_together() {
    const double start = seconds_now();
    std::vector<Tensor> flat;
    for (const Target& t : targets_) flat.push_back(method_.scores(matrix_of(t.weight), nullptr).reshape({-1}));
    const Tensor stays = mask_of(cat(flat, 0).reshape({1, -1}), o_.sparsity, Scope::matrix).reshape({-1});
    int64_t at = 0;
    for (const Target& t : targets_) {
      const Tensor w = matrix_of(t.weight), made = w * narrow(stays, 0, at, w.numel()).reshape(w.sizes()).to(f32);
      at += w.numel();
      store(t, made);
      const double error = quant::output_error(w, made, nullptr);
      report_.layers.push_back({t.name, zeros_in(made), error, error, (seconds_now() - start) / double(targets_.size()), ""});
    }
  }

  static double zeros_in(const Tensor& w) { return 1 - double(sum(ne(w, 0).to(i64)).item<int64_t>()) / double(w.numel()); }
  void store(const Target& t, const Tensor& made) const {
    t.weight.detach().copy_(made.reshape(t.weight.sizes()));
    if (scope_ == Scope::whole_rows && t.bias.defined()) t.bias.detach().mul_(any(ne(made, 0), 1).to(t.bias.dtype()));
  }
};

}  // namespace

Report prune(nn::Module& model, const PruneOptions& options) { return Run(model, options).run(); }

Masks::Masks(nn::Module& model) {
  const NoGrad guard;
  for (auto& [name, p] : model.named_parameters())
    if (p.dim() >= 2 && !p.dtype().is_scaled() && any(eq(p.detach(), 0)).item<bool>())
      masks_.emplace_back(p, ne(p.detach(), 0).to(u1));
}
void Masks::apply() const {
  const NoGrad guard;
  for (auto& [p, stays] : masks_) p.detach().mul_(stays.to(p.dtype()));
}
int64_t Masks::zeros() const {
  int64_t n = 0;
  for (auto& [p, stays] : masks_) n += p.numel() - sum(stays.to(i64)).item<int64_t>();
  return n;
}

}  // namespace dyadic::inline v1::prune
