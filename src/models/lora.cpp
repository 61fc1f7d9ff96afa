#include "models/lora.h"

#include <cmath>

#include "base/check.h"
#include "dyadic/ops_nn.h"

namespace dyadic::inline v1::models {
namespace {

DType wide_of(const Tensor& weight) { return weight.dtype() == f64 ? f64 : f32; }
Tensor dense(const Tensor& t, DType dtype) { return (t.dtype().is_scaled() ? t.to(f32) : t).to(dtype); }

}  // namespace

// By which a layer that is read finds its addition.
struct LoraFactor : nn::Linear {
  const Lora& owner;
  LoraFactor(const Lora& owner, int64_t in, int64_t out, nn::Options o) : Linear(in, out, false, o), owner(owner) {}
};

bool Lora::fits(nn::Module& m) { return m.as<nn::Linear>() || m.as<nn::Embedding>(); }

std::shared_ptr<Lora> Lora::attach(nn::Module& target, const LoraShape& shape) {
  DY_CHECK_AS(ValueError, fits(target), "adapter: it is for linear layers and embeddings, not for a {}", target.kind());
  DY_CHECK_AS(ValueError, shape.rank >= 1, "adapter: its rank is {}, below 1", shape.rank);
  const Kind kind = target.as<nn::Embedding>() ? Kind::embedding : Kind::linear;
  DY_CHECK_AS(ValueError, kind != Kind::embedding || (!shape.magnitude && !shape.bias),
              "adapter: of an embedding it has two factors alone, no {}", shape.magnitude ? "magnitude (use_dora)" : "bias");
  const std::shared_ptr<Lora> lora(new Lora(target, shape, kind));
  target.add_hook(lora);
  return lora;
}

Lora::Lora(nn::Module& target, const LoraShape& shape, Kind kind) : target_(target), shape_(shape), kind_(kind) {
  if (auto* linear = target.as<nn::Linear>()) weight_ = &linear->weight, bias_ = &linear->bias;
  if (auto* embedding = target.as<nn::Embedding>()) weight_ = &embedding->weight, bias_ = nullptr;
  const Tensor& weight = *weight_;
  const nn::Options o{wide_of(weight), weight.device()};
  const int64_t in = weight.size(kind == Kind::linear ? 1 : 0), out = weight.size(kind == Kind::linear ? 0 : 1);
  if (kind == Kind::embedding) {
    embedding_a_ = nn::make_parameter({shape.rank, in}, o), embedding_b_ = nn::make_parameter({out, shape.rank}, o);
    tensors_ = {{"lora_embedding_A", &embedding_a_}, {"lora_embedding_B", &embedding_b_}};
  } else {
    a_ = std::make_shared<LoraFactor>(*this, in, shape.rank, o);
    b_ = std::make_shared<nn::Linear>(shape.rank, out, shape.bias, o);
    target.add("lora_A", a_), target.add("lora_B", b_);
    tensors_ = {{"lora_A.weight", &a_->weight}, {"lora_B.weight", &b_->weight}};
    if (shape.bias) tensors_.emplace_back("lora_B.bias", &b_->bias);
    if (shape.magnitude) tensors_.emplace_back("lora_magnitude_vector", &(magnitude_ = nn::make_parameter({out}, o)));
  }
  for (auto& [name, slot] : tensors_)
    if (name.find('.') == name.npos) target.add_parameter(name, *slot);
}

void Lora::detach() {
  for (auto& [name, slot] : tensors_)
    if (name.find('.') == name.npos) target_.remove(name);
  if (a_) target_.remove("lora_A"), target_.remove("lora_B");
  target_.remove_hook(this);
}

void Lora::initialize() {
  const NoGrad guard;
  if (kind_ == Kind::embedding) {
    nn::init::constant_(embedding_a_, 0), nn::init::normal_(embedding_b_);
    return;
  }
  nn::init::kaiming_uniform_(a_->weight, std::sqrt(5));
  nn::init::constant_(b_->weight, 0);
  if (shape_.bias) nn::init::constant_(b_->bias, 0);
  if (shape_.magnitude) magnitude_.detach().copy_(sqrt(sum(square(whole(magnitude_.dtype())), {1})));
}

Tensor Lora::whole(DType dtype) const {
  const Tensor weight = dense(*weight_, dtype), b = kind_ == Kind::embedding ? embedding_b_ : b_->weight;
  const Tensor more = matmul(b, kind_ == Kind::embedding ? embedding_a_ : a_->weight) * shape_.scale;
  return (kind_ == Kind::linear ? weight : weight.transpose(0, 1)) + more.to(dtype);
}
// The lengths take no part in the gradient (section 4.3 of the paper).
Tensor Lora::ratio() const { return magnitude_ / sqrt(sum(square(whole(magnitude_.dtype()).detach()), {1})); }

Tensor Lora::merged_weight() const {
  Tensor w = whole(wide_of(*weight_));
  if (shape_.magnitude) w = w * unsqueeze(ratio(), 1);
  return kind_ == Kind::linear ? w : w.transpose(0, 1).contiguous();
}
Tensor Lora::merged_bias() const {
  if (!shape_.bias) return {};
  DY_CHECK_AS(ValueError, bias_->defined(), "merge: the adapter adds a bias to a layer that has none (lora_bias)");
  const Tensor more = b_->bias * shape_.scale;
  return bias_->to(more.dtype()) + (shape_.magnitude ? more * ratio() : more);
}

void Lora::after(nn::Module& m, const std::vector<Tensor>& inputs, std::vector<Tensor>& results) {
  if (!enabled) return;
  const DType dtype = results[0].dtype();
  if (kind_ == Kind::embedding) {
    const Tensor more = matmul(embedding(embedding_a_.transpose(0, 1), inputs[0]), embedding_b_.transpose(0, 1));
    results[0] = (results[0].to(more.dtype()) + more * shape_.scale).to(dtype);
    return;
  }
  Tensor x = inputs[0].to(a_->weight.dtype());
  if (shape_.dropout > 0) x = dropout(x, shape_.dropout, m.training());
  const Tensor more = (*b_)((*a_)(x))*shape_.scale;
  Tensor y = results[0].to(more.dtype());
  if (!shape_.magnitude) {
    results[0] = (y + more).to(dtype);
    return;
  }
  const bool biased = bias_ && bias_->defined();
  if (biased) y = y - bias_->to(y.dtype());
  y = (y + more) * ratio();
  results[0] = (biased ? y + bias_->to(y.dtype()) : y).to(dtype);
}

Tensor weight_of(nn::Linear& layer, DType dtype) {
  for (auto& [name, child] : layer.children())
    if (auto* factor = name == "lora_A" && child ? dynamic_cast<LoraFactor*>(child) : nullptr; factor && factor->owner.enabled)
      return factor->owner.merged_weight().to(dtype);
  return dense(layer.weight, dtype);
}

}  // namespace dyadic::inline v1::models
