// dyadic bench cuda: whole models: a training step of GPT-2's small one, text from a Llama's shapes.
#include <algorithm>
#include <map>
#include <memory>

#include "base/check.h"
#include "cli/bench_cuda.h"
#include "cli/bench_gpt.h"
#include "dyadic/interrupt.h"
#include "dyadic/models.h"

namespace dyadic::inline v1::cli {
namespace {

constexpr double kDensePeak = 990e12;  // FLOP/s of bf16 that NVIDIA names for an H100 and an H200 (SXM), without sparsity

Milliseconds median_of(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times.front()};
}

// Milliseconds by the device's clock, what the processor is late with included.
double elapsed(FunctionRef<void()> run) {
  cuda::Event begin(true), end(true);
  begin.record();
  run();
  end.record();
  return begin.elapsed_time(end);
}

void train(CudaBench& b, CudaFigure& f, study::Preset preset, bool low) {
  preset.setup.model.block = b.sizes().gpt_block, preset.setup.batch = b.sizes().gpt_batch;
  GptStep step(preset, low);
  step.model.to(b.device);
  const int64_t parameters = step.model.num_parameters(), tokens = step.batch * step.config.block;
  const auto random_tokens = [&] {
    const CategoryScope scope(Category::data);
    return randint(0, step.config.vocab, {step.batch, step.config.block}).to(b.device);
  };
  const Tensor x = random_tokens(), y = random_tokens();
  const int steps = b.sizes().smoke() ? 3 : 12, warm = 2;
  std::vector<double> times;
  int64_t asked = 0;
  reset_peak_memory_stats(b.device);
  for (int i = 0; i < warm + steps; ++i) {
    if (interrupted()) throw Interrupted{};
    if (i == warm) asked = cuda::driver_allocations();
    const double ms = elapsed([&] { step(x, y); });
    if (i >= warm) times.push_back(ms);
  }
  f.time = median_of(std::move(times));
  f.rate = double(tokens) / (f.time.median * 1e-3), f.unit = "tokens/s";
  // Of a token, forward and backward: each parameter multiplied once forward and twice backward, and the scores of attention.
  const double flops = 6.0 * double(parameters) + 12.0 * double(step.config.layers * step.config.width * step.config.block);
  f.share = flops * f.rate / kDensePeak, f.of = "990 TFLOP/s";
  const int64_t peak = memory_stats(b.device).total_peak, reserved = cuda::memory_reserved();
  f.more = {{"parameters", parameters},
            {"tokens", tokens},
            {"peak_bytes", peak},
            {"reserved_bytes", reserved},
            {"pool_slack", double(reserved) / double(peak) - 1},
            {"driver_allocations_after_step_2", cuda::driver_allocations() - asked}};
}

// The shapes of Llama 3's model of 8 billion parameters at a width of 4096.
std::string llama_config(int64_t layers, int64_t width, int64_t vocab) {
  return fmt::format(
      R"({{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": {}, "hidden_size": {}, "intermediate_size": {},
          "num_hidden_layers": {}, "num_attention_heads": {}, "num_key_value_heads": {}, "max_position_embeddings": 8192,
          "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "tie_word_embeddings": false}})",
      vocab, width, width * 7 / 2, layers, width / 128, std::max<int64_t>(1, width / 512));
}

// Weights of one shape hold the same random numbers, encoded once, each in memory of its own.
int64_t fill_linear_layers(models::CausalLM& m, DType format, Device device) {
  std::map<std::pair<int64_t, int64_t>, Tensor> by_shape;
  int64_t bytes = 0;
  for (auto& [path, module] : m.named_modules()) {
    auto* layer = module->as<nn::Linear>();
    if (!layer) continue;
    Tensor& host = by_shape[{layer->weight.size(0), layer->weight.size(1)}];
    if (!host.defined()) host = (randn(layer->weight.sizes()) * 0.02).to(format);
    layer->set_parameter("weight", host.to(device));
    bytes += host.nbytes();
  }
  return bytes;
}

void generate(CudaBench& b, CudaFigure& f, DType format) {
  const NoGrad guard;
  const CudaSizes& s = b.sizes();
  constexpr int64_t kPrompt = 128;
  const models::Model m = models::make(llama_config(s.llama_layers, s.llama_width, s.smoke() ? 256 : 128256), {bf16, b.device});
  m->requires_grad_(false);
  const int64_t bytes = fill_linear_layers(*m, format, b.device);
  const Tensor prompt = randint(0, m->vocab_size(), {1, s.smoke() ? 8 : kPrompt}).to(b.device), next = narrow(prompt, 1, 0, 1);
  std::vector<double> times;
  for (int run = -1; run < 3; ++run) {  // the first warms up
    if (interrupted()) throw Interrupted{};
    models::Cache cache(prompt.size(1) + s.tokens);
    m->read(prompt, cache);
    const double ms = elapsed([&] {
      for (int64_t i = 0; i < s.tokens; ++i) m->read(next, cache);
    });
    if (run >= 0) times.push_back(ms / double(s.tokens));
  }
  const Milliseconds t = median_of(std::move(times));
  b.bytes(f, t, double(bytes));
  f.rate = 1e3 / t.median, f.unit = "tokens/s";
  f.of = "the copy, by bytes of weights";
  f.more = {{"layers", s.llama_layers}, {"weight_bytes", bytes}};
}

}  // namespace

void bench_training(CudaBench& b) {
  const study::Preset& preset = study::preset(b.sizes().smoke() ? "nano" : "gpt2s");
  for (const bool low : {true, false})
    b.add("training step of " + preset.name, low ? "bf16" : "f32", [&](CudaFigure& f) { train(b, f, preset, low); });
}

void bench_generation(CudaBench& b) {
  for (const DType d : std::vector<DType>{bf16, q4_K, q8_0})
    b.add("Llama 8B's shapes, one sequence", d.name(), [&](CudaFigure& f) { generate(b, f, d); });
}

}  // namespace dyadic::inline v1::cli
