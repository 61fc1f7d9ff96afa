// A made-up study for the tests of the reports. Every figure here is invented: shaped like a real run, never shown as one.
#pragma once
#include <cmath>

#include "study/recommend.h"
#include "study/statistics.h"

namespace dyadic::inline v1::study {

struct Noise {  // a plain congruential generator; roughly normal by summing
  uint64_t state = 1;
  double uniform() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return double(state >> 11) / double(1ull << 53);
  }
  double normal() { return uniform() + uniform() + uniform() + uniform() + uniform() + uniform() - 3; }
};

struct SampleRecipe {
  const char *name, *doc;
  double delta, se, step_ms;
  int64_t parameters, gradients, optimizer, activations, workspace, peak;
  double lost;
  int64_t skipped, overflows, flushed;
};

inline LossDelta sample_delta(double delta, double se) {
  LossDelta d;
  d.delta = delta, d.se = se, d.se_kind = "window", d.upper = delta + 1.66 * se, d.se_token = se * 0.8, d.se_window = se;
  return d;
}

inline RecipeResult sample_recipe(const SampleRecipe& s, int steps) {
  RecipeResult r;
  r.name = s.name, r.doc = s.doc, r.status = Status::done;
  r.weights_sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
  r.val_loss = 2.0298 + s.delta, r.val_loss_se = 0.011;
  r.vs_f32 = s.delta == 0 ? no_difference() : sample_delta(s.delta, s.se);
  r.seed_val_losses = {r.val_loss};
  r.turns = 5, r.step_spread = 0.02;
  r.step_ms = s.step_ms, r.tokens_per_s = 768 / s.step_ms * 1e3;
  r.flops_per_s = 4.02e9 / s.step_ms * 1e3, r.flops_peak = s.delta == 0 ? 541e9 : 1060e9, r.mfu = r.flops_per_s / r.flops_peak;
  const auto amount = [](int64_t n) { return Amount{n, n + n / 400}; };
  r.bytes = {amount(s.parameters), amount(s.gradients), amount(s.optimizer), amount(s.activations),
             amount(s.workspace),  amount(s.peak),      amount(300'000),     Amount{12'288, 12'288}};
  r.resident_peak = s.peak + s.peak / 14;
  r.skipped_steps = s.skipped, r.lost_updates = s.lost, r.overflows = s.overflows, r.flushed = s.flushed;
  r.sampled_steps = {1, 250, 500, 750};
  if (s.flushed) r.rounding.push_back({"softmax", "blocks.3.attention", "f16", 0, s.flushed});
  if (s.overflows) r.rounding.push_back({"matmul", "head", "f16", s.overflows, 0});
  r.dtype_calls = {{"matmul", s.delta == 0 ? "f32" : "bf16", 49'000}};
  r.steps = steps;
  Noise noise;
  for (int i = 1; i <= steps; ++i) {
    const double t = double(i) / steps, loss = 1.95 + 3.6 * std::exp(-11 * t) + 0.45 * std::exp(-2.2 * t) + s.delta * t;
    CurvePoint p{i, loss + 0.06 * noise.normal(), kUnknown};
    if (i % (steps / 10) == 0) p.val_loss = i == steps ? r.val_loss : loss + 0.03 + 0.005 * noise.normal();
    r.curve.push_back(p);
  }
  return r;
}

inline FormatResult sample_format(const char* name, double bits, double delta, double se, double kl, double top1, double rate) {
  FormatResult f;
  f.name = name, f.status = Status::done, f.bits_per_weight = bits, f.bytes = int64_t(800'000 * bits / 8 + 42'000);
  f.val_loss = 2.0298 + delta, f.vs_f32 = delta == 0 ? no_difference() : sample_delta(delta, se);
  f.kl = kl, f.kl_se = kl / 30, f.top1_agreement = top1, f.tokens_per_s = rate, f.workspace = 262'144;
  return f;
}

inline StudyResult sample_result(int steps = 1000) {
  StudyResult s;
  s.version = "0.1.0", s.command = "dyadic study", s.complete = true, s.seconds = 161.4;
  s.machine = {
      "Imaginary 9B45 Processor", "Debian GNU/Linux 12", "avx512", "g++ 12.2", 2, 2, int64_t{24} << 30, 541e9, 1060e9, 61e9};
  s.corpus = {"built-in",
              "bytes",
              812'345,
              256,
              731'110,
              81'235,
              "66b876fe0e91ad6053daef9020b604bb87003b1ecdfebe7dd112bc4c08a56856",
              3.214,
              3.214,
              {{"built-in", 812'345}},
              {}};
  s.model = {"char", "", 4, 4, 128, 64, 12, 256, 842'240, 4.02e9};
  s.options.steps = steps;
  constexpr int64_t mb = 1 << 20;
  const SampleRecipe recipes[] = {
      {"f32", "everything in f32: the reference", 0, 0, 10.4, 33 * mb / 10, 33 * mb / 10, 66 * mb / 10, 98 * mb / 10, mb,
       238 * mb / 10, 0.0002, 0, 0, 0},
      {"bf16", "autocast to bf16 over f32 weights", 0.0011, 0.0004, 6.1, 33 * mb / 10, 33 * mb / 10, 66 * mb / 10, 61 * mb / 10,
       mb, 203 * mb / 10, 0.0002, 0, 0, 1204},
      {"f16", "autocast to f16 with loss scaling", 0.0007, 0.0003, 9.7, 33 * mb / 10, 33 * mb / 10, 66 * mb / 10, 61 * mb / 10,
       mb, 203 * mb / 10, 0.0002, 3, 12, 48211},
      {"pure-bf16", "weights, gradients and states in bf16", 0.0846, 0.0021, 5.8, 16 * mb / 10, 16 * mb / 10, 33 * mb / 10,
       61 * mb / 10, mb, 136 * mb / 10, 0.4127, 0, 0, 1320},
      {"pure-bf16-sr", "the same with stochastic rounding of the weights", 0.0148, 0.0012, 6.0, 16 * mb / 10, 16 * mb / 10,
       33 * mb / 10, 61 * mb / 10, mb, 136 * mb / 10, 0.0391, 0, 0, 1311},
      {"bf16-adam8", "autocast to bf16, 8-bit AdamW", 0.0031, 0.0009, 5.9, 33 * mb / 10, 33 * mb / 10, 17 * mb / 10,
       61 * mb / 10, mb, 154 * mb / 10, 0.0004, 0, 0, 1198}};
  for (const SampleRecipe& r : recipes) s.recipes.push_back(sample_recipe(r, steps)), s.options.recipes.push_back(r.name);
  s.formats = {sample_format("f32", 32, 0, 0, 0, 1, 410e3),
               sample_format("bf16", 16, 0.0002, 0.0001, 2.1e-5, 0.9971, 402e3),
               sample_format("f16", 16, 0.00001, 0.00002, 4e-7, 0.9996, 398e3),
               sample_format("i8(row)", 8.25, 0.0009, 0.0002, 3.2e-4, 0.9903, 377e3),
               sample_format("nf4(block=64,double)", 4.127, 0.0311, 0.0016, 0.0284, 0.9123, 341e3),
               sample_format("fp4(block=64)", 4.5, 0.0724, 0.0024, 0.0631, 0.8712, 344e3),
               sample_format("i4(group=32)", 5, 0.0493, 0.0021, 0.0447, 0.8903, 352e3),
               sample_format("q8_0", 8.5, 0.0003, 0.0001, 9.6e-5, 0.9942, 385e3),
               sample_format("q4_0", 4.5, 0.0388, 0.0018, 0.0352, 0.9011, 360e3)};
  for (const FormatResult& f : s.formats) s.options.formats.push_back(f.name);
  s.recommendation = recommend(s);
  return s;
}

}  // namespace dyadic::inline v1::study
