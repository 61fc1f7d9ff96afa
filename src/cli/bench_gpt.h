// A preset's model and one step of its training: forward, backward, fused AdamW.
#pragma once
#include "cli/bench.h"
#include "dyadic/gpt.h"
#include "dyadic/optim.h"
#include "study/preset.h"

namespace dyadic::inline v1::cli {

class GptStep {
  bool low_;

 public:
  models::GptConfig config;  // as many tokens as bench/torch_bench.py takes
  int64_t batch;
  models::Gpt model;
  optim::AdamW optimizer;
  GptStep(const study::Preset& preset, bool low);  // low: autocast to bf16 over f32 weights
  void operator()(const Tensor& tokens, const Tensor& targets);
};

// One run of it, unmeasured, counted.
double flops_of(FunctionRef<void()> step);
// About four seconds of it: 9 runs at least, 100 at most.
int steps_for(FunctionRef<void()> step);

void check_precision(const std::string& text);  // f32 or bf16

}  // namespace dyadic::inline v1::cli
