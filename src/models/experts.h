// Mixtures of experts: a router chooses, for each token, the few gated layers that it goes through.
#pragma once
#include "models/parts.h"

namespace dyadic::inline v1::models {

struct Routing {
  int64_t experts = 0, chosen = 0;
  bool normed = false;  // the chosen ones' shares sum to 1
};

// gate_ routes each token to its experts, and there may be a "shared_expert" that all tokens go through, times the sigmoid of
// "shared_expert_gate".
class MixedExperts : public nn::Module {
 public:
  Tensor forward(const Tensor& x) override;

 protected:
  MixedExperts(int64_t width, const std::string& activation, const Routing& routing, nn::Options options);
  void add_shared(int64_t hidden, nn::Options options);
  virtual Tensor expert(const Tensor& rows, int64_t e) = 0;
  // Of x [N, width] each token's shares [N, chosen] and the numbers of its experts, i64.
  virtual std::pair<Tensor, Tensor> route(const Tensor& x);
  const Routing routing_;
  const std::string activation_;
  const int64_t width_;
  nn::Linear gate_;

 private:
  std::unique_ptr<GatedMlp> shared_;
  std::unique_ptr<nn::Linear> shared_gate_;
};

// Mixtral's, Qwen's: "gate" routes, "experts" are gated layers.
class Experts : public MixedExperts {
 public:
  Experts(int64_t width, int64_t hidden, int64_t shared_hidden, const std::string& activation, const Routing& routing,
          nn::Options options, const MlpNames& names = {});
  const char* kind() const override { return "Experts"; }

 private:
  Tensor expert(const Tensor& rows, int64_t e) override { return experts_[size_t(e)](rows); }
  nn::ModuleList<GatedMlp> experts_;
};

// What expert e makes of rows: all experts' matrices in one tensor each, [experts, 2 hidden, width], gate above up, and
// [experts, width, hidden].
Tensor stacked_expert(const Tensor& rows, const Tensor& gate_up, const Tensor& down, int64_t e, const std::string& activation);

// Granite's: "router" routes, and experts' matrices are stacked.
class StackedExperts : public MixedExperts {
 public:
  StackedExperts(int64_t width, int64_t hidden, const std::string& activation, const Routing& routing, nn::Options options);
  const char* kind() const override { return "StackedExperts"; }

 private:
  struct Holder : nn::Module {  // of a weight that all experts share, or of a router
    Tensor weight;
    const char* kind() const override { return "Holder"; }
  };
  Tensor expert(const Tensor& rows, int64_t e) override;
  Holder router_, input_, output_;
};

// gpt-oss's: all experts' matrices in one tensor each, [experts, in, out], gate and up interleaved, with biases and limits.
class InterleavedExperts : public nn::Module {
 public:
  InterleavedExperts(int64_t width, int64_t hidden, const Routing& routing, double limit, double slope, nn::Options options);
  Tensor forward(const Tensor& x) override;
  const char* kind() const override { return "InterleavedExperts"; }

 private:
  struct Weights : nn::Module {
    Tensor gate_up, gate_up_bias, down, down_bias;
    const char* kind() const override { return "ExpertWeights"; }
    bool is_matrix(std::string_view parameter) const override { return !parameter.ends_with("_bias"); }
  };
  Tensor expert(const Tensor& x, int64_t e);
  Routing routing_;
  double limit_, slope_;
  nn::Linear router_;
  Weights experts_;
};

// Sums what each token's experts make of it: x [N, width]; chosen i64 [N, k]; shares [N, k]; run(rows of x, expert).
template <class F> Tensor mix(const Tensor& x, const Tensor& chosen, const Tensor& shares, int64_t experts, F run) {
  Tensor sum = zeros(x.sizes(), x.dtype(), x.device());
  const int64_t k = chosen.size(1);
  const Tensor host = chosen.contiguous(), flat = shares.reshape({-1});
  std::vector<std::vector<int64_t>> places(static_cast<size_t>(experts));  // n * k + j
  for (int64_t i = 0; i < host.numel(); ++i) places[size_t(host.data<int64_t>()[i])].push_back(i);
  for (int64_t e = 0; e < experts; ++e) {
    const auto& mine = places[size_t(e)];
    if (mine.empty()) continue;
    const Tensor place = from_data(mine.data(), {int64_t(mine.size())}, i64), row = floor_divide(place, k);
    const Tensor share = unsqueeze(index_select(flat, 0, place), 1).to(x.dtype());
    sum = index_add(sum, 0, row, run(index_select(x, 0, row), e) * share);
  }
  return sum;
}

}  // namespace dyadic::inline v1::models
