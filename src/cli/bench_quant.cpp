// dyadic bench quant: a language model in each format, reading a prompt and making a text token by token.
#include <algorithm>
#include <memory>

#include "base/check.h"
#include "base/text.h"
#include "cli/bench.h"
#include "dyadic/dyadic.h"
#include "dyadic/models.h"

namespace dyadic::inline v1::cli {
namespace {

struct QuantOptions {
  std::string model;
  std::vector<std::string> formats = {"f16", "bf16", "q8_0", "q4_0", "q4_K"};
  int64_t prompt = 128, tokens = 32, layers = 4;
  int runs = 3;
};

// Of the shapes of a Llama of 1.1 billion parameters, which has 22 layers; random weights.
models::Model random_llama(int64_t layers, DType dtype) {
  const std::string config = fmt::format(
      R"({{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32000, "hidden_size": 2048,
          "intermediate_size": 5632, "num_hidden_layers": {}, "num_attention_heads": 32, "num_key_value_heads": 4,
          "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "tie_word_embeddings": false}})",
      layers);
  models::Model m = models::make(config, {bf16, cpu});
  for (auto& [name, p] : m->named_parameters())
    if (p.dim() == 2) p.detach().copy_(randn(p.sizes(), bf16) * 0.02);
  m->requires_grad_(false);
  m->to(dtype);
  return m;
}

models::Model make(const QuantOptions& o, DType dtype) {
  return o.model.empty() ? random_llama(o.layers, dtype) : models::load(o.model, {.dtype = dtype});
}

Row tokens_row(const char* name, DType dtype, Time t, int64_t tokens, Peak peak, double per_second) {
  return {name, dtype.name(), t, double(tokens) / t.min, "tokens/s", peak, per_second};
}

// What each token multiplies by: the matrices, but a table that is looked up alone.
struct Work {
  double bytes = 0, flops = 0;  // a token
};
Work work_of(models::CausalLM& m) {
  Work w;
  for (auto& [path, module] : m.named_modules())
    if (auto* layer = module->as<nn::Linear>())
      w.bytes += double(layer->weight.nbytes()), w.flops += 2.0 * double(layer->weight.numel());
  return w;
}

void add_rows(std::vector<Row>& rows, const QuantOptions& o, DType dtype) {
  const NoGrad guard;
  const models::Model m = make(o, dtype);
  const Work work = work_of(*m);
  const Tensor prompt = randint(0, m->vocab_size(), {1, o.prompt}), next = narrow(prompt, 1, 0, 1);
  std::unique_ptr<models::Cache> cache;
  const auto read = [&] {
    cache = std::make_unique<models::Cache>(o.prompt + o.tokens);
    m->read(prompt, *cache);
  };
  const Time reading = time_runs(1, o.runs, read);
  std::vector<double> all;
  for (int run = 0; run < o.runs; ++run) {
    read();
    const Time t = time_runs(0, 1, [&] {
      for (int64_t i = 0; i < o.tokens; ++i) m->read(next, *cache);
    });
    all.push_back(t.min);
  }
  std::sort(all.begin(), all.end());
  const Time making = {all.front(), all[all.size() / 2]};
  rows.push_back(tokens_row("prompt", dtype, reading, o.prompt, dtype == bf16 ? Peak::flops_bf16 : Peak::flops_f32,
                            work.flops * double(o.prompt) / reading.min));
  rows.push_back(tokens_row("decode", dtype, making, o.tokens, Peak::bytes, work.bytes * double(o.tokens) / making.min));
}

Run setup_bench_quant(Options& options) {
  auto o = std::make_shared<QuantOptions>();
  options
      .value("--model", o->model, "MODEL", "a language model (default: random weights in the shapes of a Llama of 1.1 billion)")
      .value("--format", o->formats, "F", "of the weights; several may follow (default: f16 bf16 q8_0 q4_0 q4_K)",
             [](const std::string& text) { DType::parse(text); })
      .value("--prompt", o->prompt, "N", "tokens of the prompt (default: 128)", at_least(1))
      .value("--tokens", o->tokens, "N", "tokens that are made after it (default: 32)", at_least(1))
      .value("--layers", o->layers, "N", "of the random model; the Llama has 22 (default: 4)", at_least(1))
      .value("--runs", o->runs, "N", "times each is run (default: 3)", at_least(1));
  return [o](const Common& common) {
    return bench(common, [&] {
      std::vector<Row> rows;
      for (const std::string& f : o->formats) {
        add_rows(rows, *o, DType::parse(f));
        empty_cache();
      }
      return rows;
    });
  };
}

}  // namespace

const Command bench_quant_command = {"quant", "a language model in each format: prompts, and text token by token",
                                     "dyadic bench quant --format q8_0 q4_K --layers 22 --json", setup_bench_quant};

}  // namespace dyadic::inline v1::cli
