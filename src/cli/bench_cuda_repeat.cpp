// dyadic bench cuda --repeat: the same calls again and again, on one stream and on two at once. Every result must have the same
// bits, whatever else the device does meanwhile.
#include "base/check.h"
#include "base/sha256.h"
#include "cli/bench_cuda.h"
#include "cli/bench_gpt.h"
#include "dyadic/autograd.h"
#include "dyadic/interrupt.h"

namespace dyadic::inline v1::cli {
namespace {

using Results = std::vector<Tensor>;

std::string sha256_of(const Results& results) {
  Sha256 h;
  for (const Tensor& t : results) {
    const Tensor here = t.detach().to(cpu).contiguous();
    h.update(here.data_ptr(), size_t(here.nbytes()));
  }
  return h.hex();
}

// Inputs are made once; call() reads them and makes what is compared.
template <class F> void repeated(CudaBench& b, const std::string& name, const std::string& dtype, int64_t repeats, F call) {
  b.add(name, dtype.c_str(), [&](CudaFigure& f) {
    cuda::synchronize();
    const std::string first = sha256_of(call());
    int64_t different = 0;
    for (int64_t i = 1; i < repeats; ++i) {
      if (interrupted()) throw Interrupted{};
      different += sha256_of(call()) != first;
    }
    const cuda::Stream streams[] = {cuda::Stream(), cuda::Stream()};
    for (int64_t i = 0; i < repeats; ++i) {
      if (interrupted()) throw Interrupted{};
      Results results[2];
      for (int k = 0; k < 2; ++k) {
        const cuda::StreamGuard guard(streams[k]);
        results[k] = call();
      }
      cuda::synchronize();
      for (const Results& r : results) different += sha256_of(r) != first;
    }
    f.rate = double(different), f.unit = "differ";
    f.more = {{"compared", repeats - 1 + 2 * repeats}, {"sha256", first}};
    DY_CHECK(!different, "{} of {} results differ from the first, whose SHA-256 is {}", different, 3 * repeats - 1, first);
  });
}

// Of f with respect to its inputs, by a fixed random gradient of the result; the result first.
template <class F> Results with_gradients(F f, const std::vector<Tensor>& inputs, const Tensor& g) {
  const Tensor out = f();
  Results all = grad({out}, inputs, {g});
  all.insert(all.begin(), out);
  return all;
}

void calls_of(CudaBench& b, DType d, int64_t repeats) {
  const int64_t n = b.sizes().smoke() ? 32 : 256;
  const auto leaf = [&](IntList shape) { return randn(shape, d, b.device).requires_grad_(); };
  const Tensor x = leaf({n, n}), w = leaf({n, n}), bias = leaf({n}), g = randn({n, n}, d, b.device);
  repeated(b, "sum", d.name(), repeats, [&] { return with_gradients([&] { return sum(x, {0}); }, {x}, bias.detach()); });
  repeated(b, "matmul", d.name(), repeats, [&] { return with_gradients([&] { return matmul(x, w); }, {x, w}, g); });
  repeated(b, "linear", d.name(), repeats, [&] { return with_gradients([&] { return linear(x, w, bias); }, {x, w, bias}, g); });
  repeated(b, "layer_norm", d.name(), repeats,
           [&] { return with_gradients([&] { return layer_norm(x, {n}, bias, bias); }, {x, bias}, g); });
  repeated(b, "softmax", d.name(), repeats, [&] { return with_gradients([&] { return softmax(x, -1); }, {x}, g); });
  const Tensor targets = randint(0, n, {n}).to(b.device), few = randint(0, 8, {n}).to(b.device);
  repeated(b, "cross_entropy", d.name(), repeats,
           [&] { return with_gradients([&] { return cross_entropy(x, targets); }, {x}, ones({}, d, b.device)); });
  repeated(b, "embedding", d.name(), repeats,  // many rows of the gradient come to one place
           [&] { return with_gradients([&] { return embedding(w, few); }, {w}, g); });
  const Tensor q = leaf({1, 4, n / 2, 64}), k = leaf({1, 4, n / 2, 64}), v = leaf({1, 4, n / 2, 64});
  const Tensor upstream = randn({1, 4, n / 2, 64}, d, b.device);
  repeated(b, "attention, causal", d.name(), repeats, [&] {
    return with_gradients([&] { return scaled_dot_product_attention(q, k, v, {}, 0, true); }, {q, k, v}, upstream);
  });
}

}  // namespace

void repeat_calls(CudaBench& b, int64_t repeats) {
  for (const DType d : {f32, bf16}) calls_of(b, d, repeats);
}

void repeat_training(CudaBench& b, int64_t repeats) {
  constexpr int kSteps = 3;
  for (const bool low : {false, true}) {
    const study::Preset& preset = study::preset(b.sizes().smoke() ? "nano" : "char");
    repeated(b, fmt::format("{} training steps of {}", kSteps, preset.name), low ? "bf16" : "f32", repeats, [&] {
      manual_seed(0);
      GptStep step(preset, low);
      step.model.to(b.device);
      const Tensor x = randint(0, step.config.vocab, {step.batch, step.config.block}).to(b.device);
      for (int i = 0; i < kSteps; ++i) step(x, x);
      return step.model.parameters();
    });
  }
}

}  // namespace dyadic::inline v1::cli
