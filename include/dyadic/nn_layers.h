// Layers that are records: a signature, the op that forward calls, and the parameters they begin with. Conv1d-3d and their
// transposes, pooling, normalizations, activations, dropouts, losses, resizing (src/nn/layers/*.cpp); Python's classes of the
// same names are made from these records.
//
//   dy::nn::Layer conv("Conv2d", 1, 32, IntList{3}), loss("CrossEntropyLoss");
//   Tensor y = loss(conv(x), target);
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
  const char* op;                                        // what forward calls
  int rank = 0;                                          // an int[] of one value stands for so many
  void (*make)(Layer& self, Options options) = nullptr;  // parameters and buffers
  void (*before)(Layer& self) = nullptr;                 // each forward
};

std::vector<const LayerDef*> layer_defs();         // those whose op exists
const LayerDef& layer_def(std::string_view name);  // ValueError with the nearest name

// forward's op takes its arguments by name: parameters and buffers of the layer, `training`, the layer's own arguments,
// defaults. Tensors that none of these provides are the inputs, in order.
class Layer : public Module {
 public:
  Layer(const LayerDef& def, std::span<const Arg> args, Options options = {});
  template <class... A>
  explicit Layer(std::string_view name, const A&... a) : Layer(layer_def(name), std::initializer_list<Arg>{as_arg(a)...}) {}
  ~Layer() override;

  using Module::operator();
  Tensor operator()(const Tensor& a, const Tensor& b);
  Tensor operator()(const Tensor& a, const Tensor& b, const Tensor& c);
  Tensor forward(const Tensor& x) override { return run({&x, 1}); }
  Tensor run(std::span<const Tensor> inputs);
  std::string extra_repr() const override;
  const char* kind() const override;

  // Arguments by name or position in the signature.
  const LayerDef& def() const { return *def_; }
  const Signature& signature() const;
  const Arg& argument(size_t i) const;
  const Arg& argument(std::string_view name) const;
  void set_argument(size_t i, const Arg& value);
  int64_t integer(std::string_view name) const { return argument(name).integer; }
  bool boolean(std::string_view name) const { return argument(name).boolean; }
  IntList ints(std::string_view name) const { return {argument(name).ints, argument(name).n}; }
  Tensor* tensor(std::string_view name) const;  // a parameter or buffer; null if there is none

 private:
  struct State;
  const LayerDef* def_;
  std::unique_ptr<State> state_;
  static Arg as_arg(int v) { return Arg(int64_t(v)); }
  template <class T> static Arg as_arg(const T& v) { return Arg(v); }
};

}  // namespace dyadic::inline v1::nn
