#include "tune/merge.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "dyadic/autograd.h"
#include "tune/answers.h"

namespace dyadic::inline v1::tune {
namespace {

constexpr int64_t kProbeTokens = 256;

bool is_scaled(const nn::NamedTensors& weights) {
  return std::ranges::any_of(weights, [](auto& w) { return w.second.dtype().is_scaled(); });
}

class Merging {
  const MergeTask& t_;
  models::CausalLM& model_;
  nn::NamedTensors before_;                     // the base's weights, as they were trained on
  std::shared_ptr<models::CausalLM> original_;  // null: there is none
  std::vector<Tensor> trained_;                 // log-probabilities of the probe's learned tokens, a batch each

 public:
  explicit Merging(const MergeTask& t) : t_(t), model_(t.model) {
    for (auto& [name, p] : model_.named_parameters())
      if (name.find(".lora_") == name.npos) before_.emplace_back(name, p.detach());
    if (!t.original.empty()) original_ = models::load(t.original).ptr();
    for (const data::Value& batch : t.probe) trained_.push_back(scores(batch));
  }

  std::vector<MergeChoice> run() {
    std::vector<MergeChoice> all;
    for (const Merge into : ways()) {
      apply(into);
      all.push_back(judged(into));
      restore();
    }
    MergeChoice& best = *std::ranges::min_element(all, {}, &MergeChoice::loss);
    best.chosen = true;
    apply(best.into);
    return all;
  }

 private:
  std::vector<Merge> ways() const {
    if (t_.into == Merge::original)
      DY_CHECK_AS(ValueError, original_, "finetune: merging into the original weights needs their folder (model_path)");
    if (t_.into != Merge::best) return {t_.into};
    if (!is_scaled(before_)) return {Merge::dequantized};
    if (original_ && !is_scaled(original_->named_parameters()))
      return {Merge::dequantized, Merge::original, Merge::requantized};
    return {Merge::dequantized, Merge::requantized};
  }
  // What dense weights are stored in: as the original ones, else f32.
  DType dense_of(const std::string& name) const {
    const nn::NamedItems<Tensor> originals = original_ ? original_->named_parameters() : nn::NamedItems<Tensor>();
    const Tensor* own = originals.find(name);
    return own && !own->dtype().is_scaled() ? own->dtype() : f32;
  }
  void apply(Merge into) {
    const nn::NamedItems<Tensor> originals = into == Merge::original ? original_->named_parameters() : nn::NamedItems<Tensor>();
    for (auto& [name, w] : before_) {
      if (into == Merge::requantized || !w.dtype().is_scaled()) continue;
      // In f32, so that merging rounds once.
      const Tensor* own = originals.find(name);
      model_.set_parameter(name, (own ? own->detach() : w).to(f32));
    }
    model_.adapter->merge();
    if (t_.keep_zeros) restore_zeros();
    if (into == Merge::requantized) return;
    for (auto& [name, w] : before_)
      if (const DType dense = dense_of(name); w.dtype().is_scaled() && dense != f32)
        model_.set_parameter(name, model_.named_parameters()[name].detach().to(dense));
  }
  void restore_zeros() {
    const nn::NamedItems<Tensor> merged = model_.named_parameters();
    for (auto& [name, w] : before_)
      if (w.dim() >= 2 && !w.dtype().is_scaled())
        if (const Tensor* t = merged.find(name)) t->detach().mul_(ne(w, 0).to(t->dtype()));
  }
  void restore() {
    for (auto& [name, w] : before_) model_.set_parameter(name, w);
    models::load_adapter(model_, t_.adapter);
  }
  Tensor scores(const data::Value& batch) {
    const Tensor logits = logits_of(model_, batch), labels = batch["labels"].tensor().reshape({-1});
    const Tensor at = nonzero(ne(labels, kNotLearned)).reshape({-1});
    return log_softmax(
        index_select(logits.reshape({-1, logits.size(2)}), 0, narrow(at, 0, 0, std::min(at.size(0), kProbeTokens))).to(f32),
        -1);
  }
  MergeChoice judged(Merge into) {
    MergeChoice c{.into = into, .bytes = model_.nbytes()};
    double error = 0, loss = 0;
    int64_t tokens = 0;
    for (size_t i = 0; i < t_.probe.size(); ++i) {
      const Tensor now = scores(t_.probe[i]), &then = trained_[i];
      const Tensor labels = t_.probe[i]["labels"].tensor().reshape({-1});
      const Tensor learned = narrow(labels.masked_select(ne(labels, kNotLearned)), 0, 0, now.size(0));
      error += sum(exp(then) * (then - now)).item();
      loss -= sum(gather(now, 1, unsqueeze(learned, 1))).item();
      tokens += now.size(0);
    }
    c.error = error / double(tokens), c.loss = loss / double(tokens);
    return c;
  }
};

}  // namespace

std::vector<MergeChoice> merge(const MergeTask& task) {
  const NoGrad guard;
  DY_CHECK_AS(ValueError, task.model.adapter, "finetune: there is no adapter to merge: all weights were trained");
  return Merging(task).run();
}

}  // namespace dyadic::inline v1::tune
