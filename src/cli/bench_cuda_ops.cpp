// dyadic bench cuda: single calls. Inputs are random: products of zeros draw less power and run faster.
#include <algorithm>

#include "base/check.h"
#include "base/clock.h"
#include "cli/bench_cuda.h"
#include "dyadic/autograd.h"
#include "dyadic/ops_nn.h"
#include "dyadic/optim.h"
#include "dyadic/precision.h"

namespace dyadic::inline v1::cli {
namespace {

Tensor random_of(IntList shape, DType d, Device device) {
  return d.bits() < 16 || d.is_scaled() ? randn(shape, f32).to(d).to(device) : randn(shape, d, device);
}

}  // namespace

void bench_pointwise(CudaBench& b) {
  const NoGrad guard;
  const int64_t n = b.sizes().elements;
  struct Case {
    const char* name;
    double tensors;  // read and written
    Tensor (*run)(const Tensor& x, const Tensor& y);
  };
  constexpr Case kCases[] = {
      {"add", 3, [](const Tensor& x, const Tensor& y) { return x + y; }},
      {"gelu", 2, [](const Tensor& x, const Tensor&) { return gelu(x); }},
      {"exp", 2, [](const Tensor& x, const Tensor&) { return exp(x); }},
      {"sum", 1, [](const Tensor& x, const Tensor&) { return sum(x); }},
      {"randn", 1, [](const Tensor& x, const Tensor&) { return randn(x.sizes(), x.dtype(), x.device()); }},
  };
  for (const DType d : {bf16, f32})
    for (const Case& c : kCases)
      b.add(c.name, d.name(), [&](CudaFigure& f) {
        const Tensor x = random_of({n}, d, b.device), y = random_of({n}, d, b.device);
        b.bytes(f, b.time([&] { c.run(x, y); }), c.tensors * double(n * d.itemsize()));
      });
  b.add("f32 to bf16", "bf16", [&](CudaFigure& f) {
    const Tensor x = random_of({n}, f32, b.device);
    b.bytes(f, b.time([&] { x.to(bf16); }), 6.0 * double(n));
  });
}

void bench_rows(CudaBench& b) {
  const NoGrad guard;
  const int64_t rows = std::max<int64_t>(1, b.sizes().elements / 4 / kRowWidth);
  struct Case {
    const char* name;
    double tensors;
    Tensor (*run)(const Tensor& x, const Tensor& w, const Tensor& bias);
  };
  constexpr Case kCases[] = {
      {"softmax", 2, [](const Tensor& x, const Tensor&, const Tensor&) { return softmax(x, -1); }},
      {"layer_norm", 2,
       [](const Tensor& x, const Tensor& w, const Tensor& bias) { return layer_norm(x, {kRowWidth}, w, bias); }},
      {"rms_norm", 2, [](const Tensor& x, const Tensor& w, const Tensor&) { return rms_norm(x, {kRowWidth}, w); }},
      {"sum of rows", 1, [](const Tensor& x, const Tensor&, const Tensor&) { return sum(x, {-1}); }},
      {"sum of columns", 1, [](const Tensor& x, const Tensor&, const Tensor&) { return sum(x, {0}); }},
  };
  for (const DType d : {bf16, f32})
    for (const Case& c : kCases)
      b.add(c.name, d.name(), [&](CudaFigure& f) {
        const Tensor x = random_of({rows, kRowWidth}, d, b.device), w = random_of({kRowWidth}, d, b.device), bias = w + 1;
        b.bytes(f, b.time([&] { c.run(x, w, bias); }), c.tensors * double(x.nbytes()));
      });
}

void bench_products(CudaBench& b) {
  const NoGrad guard;
  const std::vector<int64_t>& sides = b.sizes().products;
  const auto product = [&](int64_t side, DType d, const std::string& name) {
    b.add(fmt::format("matmul {}", side), name, [&](CudaFigure& f) {
      // The right one lies transposed, as weights do; numbers of 8 bits are multiplied only so.
      const Tensor x = random_of({side, side}, d, b.device), y = random_of({side, side}, d, b.device).t();
      b.flops(f, b.time([&] { matmul(x, y); }), 2.0 * double(side) * double(side) * double(side));
    });
  };
  for (const int64_t side : sides)
    for (const DType d : {bf16, f16, f32}) product(side, d, d.name());
  product(sides.front(), f8e4m3fn, "f8e4m3fn");
  product(sides.size() > 1 ? sides[1] : sides[0], f64, "f64");
  set_float32_matmul_precision("high");
  product(sides.front(), f32, "tf32");
  set_float32_matmul_precision("highest");
}

void bench_attention(CudaBench& b) {
  constexpr int64_t kHeads = 16, kHead = 128;
  for (const int64_t length : b.sizes().lengths)
    for (const bool causal : {false, true}) {
      const int64_t batch = b.sizes().attention_tokens / length, heads = b.sizes().smoke() ? 1 : kHeads;
      const double forward = 4.0 * double(batch * heads * length * length * kHead) * (causal ? 0.5 : 1);
      const std::string name = fmt::format("attention {}{}", length, causal ? " causal" : "");
      const auto make = [&] { return random_of({batch, heads, length, kHead}, bf16, b.device); };
      b.add(name + ", forward", "bf16", [&](CudaFigure& f) {
        const NoGrad guard;
        const Tensor q = make(), k = make(), v = make();
        b.flops(f, b.time([&] { scaled_dot_product_attention(q, k, v, {}, 0, causal); }), forward);
      });
      b.add(name + ", backward", "bf16", [&](CudaFigure& f) {
        const Tensor q = make().requires_grad_(), k = make().requires_grad_(), v = make().requires_grad_(), g = make();
        Tensor out;
        const auto recorded = [&] { out = scaled_dot_product_attention(q, k, v, {}, 0, causal); };
        const FunctionRef<void()> prepare(recorded);
        const Milliseconds t = b.time(&prepare, [&] { grad({out}, {q, k, v}, {g}); });
        b.flops(f, t, 2.5 * forward);
      });
    }
}

void bench_weights(CudaBench& b) {
  const NoGrad guard;
  const int64_t rows = b.sizes().weight_rows, columns = b.sizes().weight_columns;
  const int64_t beyond = 4 * cuda::properties().l2_cache_size;  // bytes that no cache holds
  double bf16_ms[2] = {};
  for (const DType d : std::vector<DType>{bf16, q8_0, q4_0, q4_K, nf4}) {
    std::vector<Tensor> weights;
    const auto make_weights = [&] {
      const Tensor host = (randn({rows, columns}) * 0.02).to(d);
      while (weights.empty() || int64_t(weights.size()) * host.nbytes() < beyond) weights.push_back(host.to(b.device));
    };
    for (const int64_t n : {1, 16})
      b.add(fmt::format("linear, {} {}", n, n == 1 ? "row" : "rows"), d.name(), [&](CudaFigure& f) {
        if (weights.empty()) make_weights();
        const Tensor x = randn({n, columns}, bf16, b.device);
        size_t next = 0;
        const Milliseconds t = b.time([&] { linear(x, weights[next++ % weights.size()]); });
        b.bytes(f, t, double(weights[0].nbytes()));
        double& other = bf16_ms[n > 1];
        if (d == bf16)
          other = t.median;
        else if (other > 0)
          f.more["times_bf16"] = other / t.median;
      });
  }
}

void bench_optimizer(CudaBench& b) {
  for (const int64_t n : b.sizes().parameters)
    for (const DType state : std::vector<DType>{f32, dynamic8})
      b.add(fmt::format("AdamW of {}", n), state.name(), [&](CudaFigure& f) {
        const Tensor p = nn::make_parameter({n}, {f32, b.device});
        p.detach().copy_(randn({n}, f32, b.device) * 0.02);
        p.set_grad(randn({n}, f32, b.device));
        optim::Optimizer optimizer("AdamW", {{"p", p}}, optim::Options{{"state", state}});
        const Milliseconds t = b.time([&] { optimizer.step(); });
        double bytes = 12.0 * double(n);
        for (auto& [name, s] : optimizer.state_dict()) bytes += 2.0 * double(s.nbytes());
        b.bytes(f, t, bytes);
      });
}

// What a call costs the processor: so few that the device's queue does not fill.
void bench_calls(CudaBench& b) {
  const Tensor x = randn({4, 4}, f32, b.device), w = randn({4, 4}, f32, b.device), bias = randn({4}, f32, b.device);
  const Tensor leaf = randn({4, 4}, f32, b.device).requires_grad_();
  const auto calls = [&](const char* name, auto call) {
    b.add(name, "f32", [&](CudaFigure& f) {
      constexpr int kAtOnce = 200;
      std::vector<double> each;
      for (int done = -kAtOnce; done < b.sizes().calls; done += kAtOnce) {
        cuda::synchronize();
        const double begin = seconds_now();
        for (int i = 0; i < std::min(kAtOnce, b.sizes().calls); ++i) call();
        if (done >= 0) each.push_back((seconds_now() - begin) / std::min(kAtOnce, b.sizes().calls));
      }
      std::sort(each.begin(), each.end());
      f.time = {each[each.size() / 2] * 1e3, each.front() * 1e3};
      f.rate = f.time.median * 1e3, f.unit = "us of CPU";
    });
  };
  const NoGrad guard;
  calls("call of add", [&] { add(x, w); });
  calls("call of matmul", [&] { matmul(x, w); });
  calls("call of linear", [&] { linear(x, w, bias); });
  calls("call of layer_norm", [&] { layer_norm(x, {4}, bias, bias); });
  const GradMode recording(true);
  calls("call of add, recorded", [&] { add(leaf, w); });
}

}  // namespace dyadic::inline v1::cli
