#include "dyadic/narrow.h"

#include <cmath>

#include "base/check.h"
#include "base/json.h"
#include "dyadic/autograd.h"
#include "dyadic/linalg.h"
#include "quant/catching.h"
#include "quant/targets.h"

namespace dyadic::inline v1::prune {
namespace {

using nlohmann::json;

// Where several columns of a matrix stand for one thing: `last` sums over them, and `first` matrices have as many rows for it.
struct Part {
  const char* last;
  std::vector<const char*> first;
};
const Part kChannels{"mlp.down_proj", {"mlp.gate_proj", "mlp.up_proj"}};
const Part kHeads{"self_attn.o_proj", {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}};

// Numbers of rows or columns, of the groups that stay: i64.
Tensor members(const Tensor& groups, int64_t size) {
  return (unsqueeze(groups * size, 1) + arange(int64_t(0), size, int64_t(1), i64)).reshape({-1});
}

class Narrowing {
  models::CausalLM& model_;
  const NarrowOptions& o_;
  json config_ = parse_json(model_.config);
  json& words_ = config_.contains("text_config") ? config_["text_config"] : config_;
  std::map<std::string, Tensor> weights_;

 public:
  Narrowing(models::CausalLM& model, const NarrowOptions& o) : model_(model), o_(o) {
    for (const auto& [what, share] : {std::pair("channels", o.channels), std::pair("heads", o.heads)})
      DY_CHECK_AS(ValueError, share >= 0 && share < 1, "narrow: {} is {}, not in [0, 1)", what, share);
    for (auto& [name, t] : model.named_parameters()) {
      DY_CHECK_AS(ValueError, !t.dtype().is_scaled(), "narrow: {} is {}: narrow first and quantize then", name,
                  t.dtype().name());
      weights_.emplace(name, t.detach());
    }
  }

  models::Model run() {
    const NoGrad guard;
    const int64_t channels = size("intermediate_size"), heads = size("num_attention_heads");
    const int64_t groups = words_.value("num_key_value_heads", heads);
    const int64_t step = channels % 32 == 0 ? 32 : 1;
    const int64_t kept_channels = std::min(channels, (stay(channels, o_.channels) + step - 1) / step * step),
                  kept_groups = stay(groups, o_.heads);
    DY_CHECK_AS(ValueError, kept_channels < channels || kept_groups < groups,
                "narrow: of {} channels and {} heads nothing would go: give larger shares", channels, groups);
    if (kept_channels < channels) narrow_all(kChannels, channels, kept_channels), words_["intermediate_size"] = kept_channels;
    if (kept_groups < groups) {
      words_["head_dim"] = weights_.at(layers_of(kHeads)[0] + kHeads.last + ".weight").size(1) / heads;
      narrow_all(kHeads, groups, kept_groups);
      words_["num_attention_heads"] = heads / groups * kept_groups, words_["num_key_value_heads"] = kept_groups;
    }
    return made();
  }

 private:
  int64_t size(const char* key) const {
    DY_CHECK_AS(ValueError, words_.contains(key) && words_[key].is_number_integer(),
                "narrow: config.json has no {}: models like llama have", key);
    return words_[key].get<int64_t>();
  }
  static int64_t stay(int64_t n, double share) {
    return std::max<int64_t>(int64_t(std::ceil(double(n) * (1 - share) - 1e-9)), 1);
  }

  // "model.layers.3.", of each layer that has the part.
  std::vector<std::string> layers_of(const Part& p) const {
    std::vector<std::string> all;
    const std::string end = std::string(p.last) + ".weight";
    for (auto& [name, t] : weights_)
      if (name.ends_with("." + end)) all.push_back(name.substr(0, name.size() - end.size()));
    DY_CHECK_AS(ValueError, !all.empty(), "narrow: no layer of {} has a {}", model_.kind(), p.last);
    for (const std::string& layer : all)
      for (const char* first : p.first)
        DY_CHECK_AS(ValueError, weights_.contains(layer + first + ".weight"), "narrow: {} has no {}",
                    layer.substr(0, layer.size() - 1), first);
    return all;
  }

  void narrow_all(const Part& p, int64_t groups, int64_t kept) {
    const std::vector<std::string> layers = layers_of(p);
    const std::map<std::string, Tensor> products = inputs_of(p, layers);
    for (const std::string& layer : layers) {
      Tensor& last = weights_.at(layer + p.last + ".weight");
      const int64_t width = last.size(1) / groups;
      DY_CHECK_AS(ValueError, last.size(1) % groups == 0, "narrow: {}{} has {} columns for {} parts", layer, p.last,
                  last.size(1), groups);
      const Tensor w = last.to(f64), c = products.contains(layer) ? products.at(layer) : eye(w.size(1), std::nullopt, f64);
      const Tensor stays = chosen(w, c, groups, kept), columns = members(stays, width);
      const Tensor made = products.contains(layer) ? refitted(w, c, columns) : index_select(w, 1, columns);
      last = made.to(last.dtype());
      for (const char* first : p.first)
        for (const char* kind : {".weight", ".bias"})
          if (const auto at = weights_.find(layer + first + kind); at != weights_.end())
            at->second = index_select(at->second, 0, members(stays, at->second.size(0) / groups));
    }
  }

  // The sum of x x^T of what `last` multiplies, f64; nothing without data.
  std::map<std::string, Tensor> inputs_of(const Part& p, const std::vector<std::string>& layers) {
    std::map<std::string, Tensor> products;
    if (!o_.calibration) return products;
    const quant::Evaluating evaluating(model_);
    std::map<std::string, quant::Inputs> inputs;
    std::map<std::string, nn::Module*> modules;
    for (auto& [path, m] : model_.named_modules()) modules.emplace(path, m);
    std::vector<std::unique_ptr<quant::Watching>> watching;
    for (const std::string& layer : layers)
      watching.push_back(std::make_unique<quant::Watching>(*o_.calibration, *modules.at(layer + p.last),
                                                           std::make_shared<quant::Catcher>("narrow", inputs[layer], layer)));
    o_.calibration->run(model_);
    for (auto& [layer, caught] : inputs)
      if (caught.rows() > 0) products.emplace(layer, caught.products().to(f64));
    return products;
  }

  // The groups whose share of w x is largest, in their order: i64 [kept].
  static Tensor chosen(const Tensor& w, const Tensor& c, int64_t groups, int64_t kept) {
    const int64_t width = w.size(1) / groups;
    std::vector<double> power;
    for (int64_t g = 0; g < groups; ++g) {
      const Tensor part = narrow(w, 1, g * width, width), own = narrow(narrow(c, 0, g * width, width), 1, g * width, width);
      power.push_back(sum(matmul(part, own) * part).item());
    }
    return std::get<0>(sort(topk(from_data(power.data(), {groups}, f64), kept).indices));
  }
  // The columns that stay, so that w x is kept as well as they can: w C[:, S] (C[S, S] + damping)^-1.
  static Tensor refitted(const Tensor& w, const Tensor& c, const Tensor& columns) {
    const Tensor to = index_select(c, 1, columns);
    Tensor own = index_select(to, 0, columns);
    own = own + eye(own.size(0), std::nullopt, f64) * (0.001 * mean(diagonal(c)).item() + 1e-30);
    // Damped towards what they were.
    const Tensor was = index_select(w, 1, columns) * (0.001 * mean(diagonal(c)).item() + 1e-30);
    return linalg::solve(own, (matmul(w, to) + was).t()).t().contiguous();
  }

  models::Model made() {
    const std::string text = dump_json(config_, 2) + "\n";
    auto small = models::make(text, {f32, meta});
    nn::NamedTensors state;
    for (auto& [name, t] : small->named_parameters()) {
      Tensor own = weights_.at(name).clone();
      if (own.dtype().is_floating_point()) own.requires_grad_(true);
      state.emplace_back(name, own);
    }
    small->load_state_dict(state, true, true);
    small->generation_config = model_.generation_config;
    return small;
  }
};

}  // namespace

models::Model narrowed(models::CausalLM& model, const NarrowOptions& options) { return Narrowing(model, options).run(); }

}  // namespace dyadic::inline v1::prune
