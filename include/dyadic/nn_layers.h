// Layers that are records: a signature, the op that forward calls, and the parameters they begin with. Conv1d-3d and their
// transposes, pooling, normalizations, activations, dropouts, losses, resizing, recurrent layers, attention and transformer
// layers (src/nn/layers/*.cpp). The classes here (tools/generate) and Python's are made from these records.
//
//   dy::nn::Conv2d conv(1, 32, 3), half(32, 64, 3, {.stride = 2, .padding = 1});
//   dy::nn::CrossEntropyLoss loss;
//   Tensor y = loss(conv(x), target);
//   dy::nn::LSTM lstm(8, 16, 2);
//   auto all = lstm.call(x);  // output, h_n, c_n
#pragma once
#include <span>

#include "dyadic/nn.h"

namespace dyadic::inline v1 {
struct Signature;
}
namespace dyadic::inline v1::nn {

class Layer;

struct LayerDef {
  const char* sig;                                       // "Conv2d(int in_channels, int out_channels, ...)", as ops have it
  const char* doc;                                       // one line or a few
  const char* op;                                        // what forward calls; null: `run` is more than one op
  int rank = 0;                                          // an int[] of one value stands for so many
  void (*make)(Layer& self, Options options) = nullptr;  // parameters and buffers
  void (*before)(Layer& self, const Tensor& input) = nullptr;  // each forward
  const char* forward = nullptr;  // where `run` is the forward, its own signature: "forward(Tensor input) -> Tensor"
  std::vector<Tensor> (*run)(Layer& self, const Arg* args) = nullptr;
};

const std::vector<const LayerDef*>& layer_defs();  // those whose op exists
const LayerDef& layer_def(std::string_view name);  // ValueError with the nearest name

// Without a `run`, forward's op takes its arguments by name: parameters and buffers of the layer, `training`, the layer's own
// arguments, defaults. Tensors that none of these provides are the inputs, in order.
class Layer : public Module {
 public:
  Layer(const LayerDef& def, std::span<const Arg> args, Options options = {});
  Layer(const LayerDef& def, Bare);
  template <class... A>
  explicit Layer(std::string_view name, const A&... a) : Layer(layer_def(name), std::initializer_list<Arg>{as_arg(a)...}) {}
  ~Layer() override;

  using Module::operator();
  Tensor operator()(const Tensor& a, const Tensor& b);
  Tensor operator()(const Tensor& a, const Tensor& b, const Tensor& c);
  Tensor forward(const Tensor& x) override { return run({&x, 1}); }
  Tensor run(std::span<const Tensor> inputs);
  // The forward of a layer with a signature of its own, arguments by position: every result.
  template <class... A> std::vector<Tensor> call(const A&... a) { return call_args(std::initializer_list<Arg>{as_arg(a)...}); }
  std::vector<Tensor> call_args(std::span<const Arg> args);
  std::string extra_repr() const override;
  const char* kind() const override;
  bool is_matrix(std::string_view parameter) const override;  // not of a normalization

  // Arguments by name or position in the signature.
  const LayerDef& def() const { return *def_; }
  const Signature& signature() const;
  const Signature* forward_signature() const;  // null: the op's inputs
  const Arg& argument(size_t i) const;
  const Arg& argument(std::string_view name) const;  // TypeError where it is not set
  bool is_set(size_t i) const;                       // of a bare layer not all are
  void set_argument(size_t i, const Arg& value);
  // What PyTorch calls the tensors that forward takes, where it is the op's.
  std::vector<std::string> input_names() const;
  int64_t integer(std::string_view name) const { return argument(name).integer; }
  bool boolean(std::string_view name) const { return argument(name).boolean; }
  IntList ints(std::string_view name) const { return {argument(name).ints, argument(name).n}; }
  double real(std::string_view name) const { return argument(name).real; }
  std::string_view text(std::string_view name) const { return {argument(name).text, argument(name).n}; }
  Tensor* tensor(std::string_view name) const;  // a parameter or buffer; null if there is none
  Tensor value(std::string_view name) const;    // the same; undefined if there is none
  Module& child(std::string_view name) const;
  Layer& layer(std::string_view name) const;  // a child that is a Layer

 private:
  struct State;
  void read_arguments(std::span<const Arg> args, bool bare);
  void plan();  // how the op's parameters are filled
  void check_set(size_t i) const;
  std::vector<Tensor> execute(std::span<const Arg> args);  // checked, defaults filled in
  Tensor hooked_run(std::span<const Tensor> inputs);
  const LayerDef* def_;
  std::unique_ptr<State> state_;
  static Arg as_arg(int v) { return Arg(int64_t(v)); }
  template <class T> static Arg as_arg(const T& v) { return Arg(v); }
};

// Encoder layers one after the other, then norm; PyTorch's names: "layers.0", "norm". Undefined masks mask nothing.
class TransformerEncoder : public Module {
  ModuleList<Layer> layers_;
  std::shared_ptr<Module> norm_;

 public:
  explicit TransformerEncoder(std::vector<std::shared_ptr<Layer>> layers, std::shared_ptr<Module> norm = {});
  Tensor operator()(const Tensor& src, const Tensor& mask = {}, const Tensor& src_key_padding_mask = {},
                    bool is_causal = false);
  Tensor forward(const Tensor& x) override { return (*this)(x); }
  const char* kind() const override { return "TransformerEncoder"; }
};
class TransformerDecoder : public Module {
  ModuleList<Layer> layers_;
  std::shared_ptr<Module> norm_;

 public:
  explicit TransformerDecoder(std::vector<std::shared_ptr<Layer>> layers, std::shared_ptr<Module> norm = {});
  Tensor operator()(const Tensor& tgt, const Tensor& memory, const Tensor& tgt_mask = {}, const Tensor& memory_mask = {},
                    const Tensor& tgt_key_padding_mask = {}, const Tensor& memory_key_padding_mask = {},
                    bool tgt_is_causal = false, bool memory_is_causal = false);
  const char* kind() const override { return "TransformerDecoder"; }
};

}  // namespace dyadic::inline v1::nn

#include "dyadic/layer_classes.inc"
