// The layers of encoders and decoders (Vaswani et al. 2017; with norm_first Xiong et al. 2020).
#include "base/check.h"
#include "corridor/signature.h"
#include "nn/layers/layers.h"

namespace dyadic::inline v1::nn {
namespace {

// What each part of a layer begins from.
struct Maker {
  Layer& self;
  Options options;
  int64_t width = self.integer("d_model");
  double p = self.real("dropout");
  bool bias = self.boolean("bias");

  void attention(const char* name) const {
    const Arg args[] = {width, self.integer("nhead"), p, bias, false, false, Arg(), Arg(), self.boolean("batch_first")};
    self.add(name, std::make_shared<Layer>(layer_def("MultiheadAttention"), args, options));
  }
  void linear(const char* name, int64_t in, int64_t out) const {
    self.add(name, std::make_shared<Linear>(in, out, bias, options));
  }
  void norm(const char* name) const {
    self.add(name, std::make_shared<LayerNorm>(IntList{width}, self.real("layer_norm_eps"), true, bias, options));
  }
  void dropout(const char* name) const { self.add(name, std::make_shared<Layer>("Dropout", p)); }
  void feed_forward() const {
    const int64_t wide = self.integer("dim_feedforward");
    linear("linear1", width, wide);
    dropout("dropout");
    linear("linear2", wide, width);
  }
};

void make_encoder(Layer& self, Options options) {
  find_op(self.text("activation"));
  const Maker m{self, options};
  m.attention("self_attn");
  m.feed_forward();
  for (const char* name : {"norm1", "norm2"}) m.norm(name);
  for (const char* name : {"dropout1", "dropout2"}) m.dropout(name);
}
void make_decoder(Layer& self, Options options) {
  find_op(self.text("activation"));
  const Maker m{self, options};
  m.attention("self_attn");
  m.attention("multihead_attn");
  m.feed_forward();
  for (const char* name : {"norm1", "norm2", "norm3"}) m.norm(name);
  for (const char* name : {"dropout1", "dropout2", "dropout3"}) m.dropout(name);
}

Tensor attend(Layer& self, const char* name, const Tensor& q, const Tensor& kv, const Arg& mask, const Arg& padding,
              const Arg& causal) {
  const Arg args[] = {q, kv, kv, padding, false, mask, true, causal};
  return self.layer(name).call_args(args)[0];
}
Tensor feed_forward(Layer& self, const Tensor& x) {
  const Tensor inner = call(find_op(self.text("activation")), self.child("linear1")(x));
  return self.child("linear2")(self.child("dropout")(inner));
}

// x + part(x), normalized before the part or behind the sum.
template <class F> Tensor residual(Layer& self, const Tensor& x, int number, F part) {
  Module &norm = self.child(fmt::format("norm{}", number)), &drop = self.child(fmt::format("dropout{}", number));
  return self.boolean("norm_first") ? add(x, drop(part(norm(x)))) : norm(add(x, drop(part(x))));
}

std::vector<Tensor> run_encoder(Layer& self, const Arg* a) {
  Tensor x =
      residual(self, *a[0].tensor, 1, [&](const Tensor& t) { return attend(self, "self_attn", t, t, a[1], a[2], a[3]); });
  return {residual(self, x, 2, [&](const Tensor& t) { return feed_forward(self, t); })};
}
std::vector<Tensor> run_decoder(Layer& self, const Arg* a) {
  const Tensor& memory = *a[1].tensor;
  Tensor x =
      residual(self, *a[0].tensor, 1, [&](const Tensor& t) { return attend(self, "self_attn", t, t, a[2], a[4], a[6]); });
  x = residual(self, x, 2, [&](const Tensor& t) { return attend(self, "multihead_attn", t, memory, a[3], a[5], a[7]); });
  return {residual(self, x, 3, [&](const Tensor& t) { return feed_forward(self, t); })};
}

#define DY_TRANSFORMER_ARGUMENTS                                                                        \
  "(int d_model, int nhead, int dim_feedforward=2048, float dropout=0.1, str activation='relu', float " \
  "layer_norm_eps=1e-05, bool batch_first=False, bool norm_first=False, bool bias=True)"

constexpr LayerDef kTransformerLayers[] = {
    {"TransformerEncoderLayer" DY_TRANSFORMER_ARGUMENTS,
     "Self-attention, then linear, activation (the name of an op), linear; each added to its input and normalized.", nullptr, 0,
     make_encoder, nullptr,
     "forward(Tensor src, Tensor? src_mask=None, Tensor? src_key_padding_mask=None, bool is_causal=False) -> Tensor",
     run_encoder},
    {"TransformerDecoderLayer" DY_TRANSFORMER_ARGUMENTS,
     "Self-attention, attention to memory, then linear, activation (the name of an op), linear; each added to its input and "
     "normalized.",
     nullptr, 0, make_decoder, nullptr,
     "forward(Tensor tgt, Tensor memory, Tensor? tgt_mask=None, Tensor? memory_mask=None, Tensor? "
     "tgt_key_padding_mask=None, Tensor? memory_key_padding_mask=None, bool tgt_is_causal=False, bool "
     "memory_is_causal=False) -> Tensor",
     run_decoder},
};

}  // namespace

std::span<const LayerDef> transformer_layers() { return kTransformerLayers; }

}  // namespace dyadic::inline v1::nn
