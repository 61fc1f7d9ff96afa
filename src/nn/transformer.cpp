// Stacks of transformer layers; the layers are records (layers/transformer.cpp).
#include "dyadic/nn_layers.h"

namespace dyadic::inline v1::nn {
namespace {

void keep(Module& self, ModuleList<Layer>& list, std::vector<std::shared_ptr<Layer>> layers, std::shared_ptr<Module> norm) {
  for (auto& l : layers) list.append(std::move(l));
  self.add("layers", list);
  if (norm) self.add("norm", std::move(norm));
}

}  // namespace

TransformerEncoder::TransformerEncoder(std::vector<std::shared_ptr<Layer>> layers, std::shared_ptr<Module> norm) : norm_(norm) {
  keep(*this, layers_, std::move(layers), std::move(norm));
}
Tensor TransformerEncoder::operator()(const Tensor& src, const Tensor& mask, const Tensor& src_key_padding_mask,
                                      bool is_causal) {
  const ModuleScope scope(*this);
  Tensor x = src;
  for (auto* l : layers_) x = l->call(x, mask, src_key_padding_mask, is_causal)[0];
  return norm_ ? (*norm_)(x) : x;
}

TransformerDecoder::TransformerDecoder(std::vector<std::shared_ptr<Layer>> layers, std::shared_ptr<Module> norm) : norm_(norm) {
  keep(*this, layers_, std::move(layers), std::move(norm));
}
Tensor TransformerDecoder::operator()(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask,
                                      const Tensor& memory_mask, const Tensor& tgt_key_padding_mask,
                                      const Tensor& memory_key_padding_mask, bool tgt_is_causal, bool memory_is_causal) {
  const ModuleScope scope(*this);
  Tensor x = tgt;
  for (auto* l : layers_)
    x = l->call(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
                memory_is_causal)[0];
  return norm_ ? (*norm_)(x) : x;
}

}  // namespace dyadic::inline v1::nn
