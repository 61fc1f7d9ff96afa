// A model's weights before it has learned anything, and rows for tokens that it has not met.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/json.h"
#include "dyadic/dyadic.h"
#include "models/config.h"
#include "models/parts.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::models {
namespace {

constexpr std::string_view kOnes[] = {"weight", "dt_bias", "layer_scalar", "scale", "per_expert_scale"};  // of one dimension

// As transformers' _init_weights has them.
void begin_parameter(const nn::Module& module, const std::string& name, const Tensor& p, double range) {
  if (const auto* norm = dynamic_cast<const RmsNorm*>(&module)) {
    nn::init::constant_(p, norm->from_one() ? 0 : 1);
  } else if (name == "A_log") {
    nn::init::uniform_(p, 0.01, 16);
    if (!p.is_meta()) p.copy_(log(p));
  } else if (p.dim() == 1 && std::ranges::find(kOnes, name) != std::end(kOnes)) {
    nn::init::constant_(p, 1);
  } else if (name.ends_with("bias")) {
    nn::init::constant_(p, 0);
  } else {
    DY_CHECK(p.dim() >= 2 || name == "sinks", "initialize: nothing is known of {}, {}", name, describe(p));
    nn::init::normal_(p, 0, range);
  }
}

Tensor& table_of(nn::Module& module) {
  if (auto* table = dynamic_cast<nn::Embedding*>(&module)) return table->weight;
  return dynamic_cast<nn::Linear&>(module).weight;
}
void set_rows(nn::Module& module, int64_t n) {
  if (auto* table = dynamic_cast<nn::Embedding*>(&module))
    table->num_embeddings = n;
  else
    dynamic_cast<nn::Linear&>(module).out_features = n;
}

}  // namespace

void initialize(CausalLM& model) {
  const NoGrad guard;
  const Config c(model.config);
  const double range = c.real("initializer_range", 0.02);
  // GPT-2's sums of all layers begin as wide as one.
  const double in_sums = c.model_type() == "gpt2" ? 1 / std::sqrt(2.0 * double(c.integer("n_layer"))) : 1;
  for (auto& [path, module] : model.named_modules())
    for (auto& [name, slot] : module->own_parameters())
      if (slot->defined()) begin_parameter(*module, name, *slot, path.ends_with("c_proj") ? range * in_sums : range);
}

void CausalLM::resize_token_embeddings(int64_t n) {
  const NoGrad guard;
  DY_CHECK_AS(ValueError, n >= 1 && n <= 1 << 30, "resize_token_embeddings: {} tokens, and not 1 ... 2^30", n);
  DY_CHECK_AS(ValueError, !adapter, "resize_token_embeddings: the model has an adapter for {} tokens: merge it first",
              vocab_size());
  const std::vector<nn::Module*> tables = tables_of_tokens();
  DY_CHECK_AS(ValueError, !tables.empty(), "resize_token_embeddings: a {} has other tables of tokens, which stay as they are",
              kind());
  for (nn::Module* table : tables) {
    const Tensor& w = table_of(*table);
    DY_CHECK_AS(ValueError, w.dtype().is_floating_point() && !w.dtype().is_blocked(),
                "resize_token_embeddings: the weights are {}: resize them before they are quantized", w.dtype().name());
  }
  const CategoryScope scope(Category::parameter);
  for (nn::Module* table : tables) {
    Tensor& w = table_of(*table);
    const int64_t old = w.size(0);
    Tensor rows = narrow(w.detach(), 0, 0, std::min(n, old)).clone();
    if (n > old) {
      const Tensor middle = mean(w.detach().to(w.dtype() == f64 ? f64 : f32), {0}, true).to(w.dtype());
      rows = cat(std::vector{rows, middle.expand({n - old, w.size(1)})});
    }
    set_category(rows, Category::parameter);
    rows.requires_grad_(w.requires_grad());
    w = rows;
    set_rows(*table, n);
  }
  json c = parse_json(config);
  (c.contains("text_config") && c["text_config"].is_object() ? c["text_config"] : c)["vocab_size"] = n;
  config = dump_json(c, 2) + "\n";
}

}  // namespace dyadic::inline v1::models
