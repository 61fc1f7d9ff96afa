// Modules: trees of parameters with names, and a forward. Children are members; each registers under its name:
//
//   struct Mlp : dy::nn::Module {
//     dy::nn::Linear up, down;
//     explicit Mlp(int64_t width) : up(width, 4 * width), down(4 * width, width) { add("up", up), add("down", down); }
//     dy::Tensor forward(const dy::Tensor& x) override { return down(gelu(up(x))); }
//   };
#pragma once
#include <concepts>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dyadic/ops.h"

namespace dyadic::inline v1::nn {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;  // in registration order, names dotted

// What has names, in order: pairs whose halves are key() and value() as well, found by name.
template <class T> struct NamedItem : std::pair<std::string, T> {
  using std::pair<std::string, T>::pair;
  NamedItem(std::pair<std::string, T> p) : std::pair<std::string, T>(std::move(p)) {}
  const std::string& key() const { return this->first; }
  T& value() { return this->second; }
  const T& value() const { return this->second; }
  T& operator*() { return this->second; }
  T* operator->() { return &this->second; }
};
template <class T> class NamedItems : public std::vector<NamedItem<T>> {
  template <class Self> static auto* look(Self& all, std::string_view name) {
    for (auto& item : all)
      if (item.first == name) return &item.second;
    return decltype(&all.front().second)(nullptr);
  }

 public:
  using std::vector<NamedItem<T>>::vector;
  using std::vector<NamedItem<T>>::operator[];
  T* find(std::string_view name) { return look(*this, name); }
  const T* find(std::string_view name) const { return look(*this, name); }
  bool contains(std::string_view name) const { return find(name); }
  template <std::convertible_to<std::string_view> S> T& operator[](const S& name) {  // ValueError where there is none
    if (T* value = find(name)) return *value;
    throw ValueError("no entry is called \"" + std::string(name) + "\"");
  }
  std::vector<std::string> keys() const {
    std::vector<std::string> all;
    for (auto& item : *this) all.push_back(item.first);
    return all;
  }
  std::vector<T> values() const {
    std::vector<T> all;
    for (auto& item : *this) all.push_back(item.second);
    return all;
  }
  const std::vector<NamedItem<T>>& items() const { return *this; }
  bool is_empty() const { return this->empty(); }
  operator NamedTensors() const
    requires std::same_as<T, Tensor>
  {
    return {this->begin(), this->end()};
  }
};

inline NamedTensors numbered(const std::vector<Tensor>& tensors) {  // named "0", "1" ...
  NamedTensors all;
  for (const Tensor& t : tensors) all.emplace_back(std::to_string(all.size()), t);
  return all;
}

struct Options {     // where and in which dtype a module's parameters are made; nothing exists in another dtype first
  DType dtype = {};  // empty: default_dtype()
  Device device = cpu;
};
// What else a layer can be told, by name: Linear(3, 4, {.bias = false}). As the first member this keeps lists of numbers from
// being taken for options by position.
struct ByName {};

// A layer without parameters; sizes that have no default are set afterwards.
struct Bare {};

// What load_state_dict left as it was.
struct LoadReport {
  std::vector<std::string> missing, unexpected;
};

class Module;
// Runs around a module's forward; it may replace what goes in and what comes out.
class Hook {
 public:
  virtual ~Hook();
  virtual void before(Module& /*m*/, std::vector<Tensor>& /*inputs*/) {}
  virtual void after(Module& /*m*/, const std::vector<Tensor>& /*inputs*/, std::vector<Tensor>& /*results*/) {}
};

class Module : public std::enable_shared_from_this<Module> {
 public:
  Module() = default;
  explicit Module(std::string name) : name_(std::move(name)) {}
  Module(const Module&) = delete;  // parents and names point to it: hold it by std::shared_ptr, or clone() it
  virtual ~Module();

  // Runs forward inside this module's scope: what it allocates, and what its backward will, is charged to its path.
  Tensor operator()(const Tensor& x);
  virtual Tensor forward(const Tensor& x);  // Error unless overridden
  virtual std::string extra_repr() const { return ""; }
  virtual const char* kind() const { return "Module"; }
  // Whether products or lookups read a parameter of this module itself, if it has two dimensions or more. By its name: a
  // weight; layers that multiply element by element say no.
  virtual bool is_matrix(std::string_view parameter) const;

  NamedItems<Tensor> named_parameters(const std::string& prefix = "") const;  // a tied tensor once, under its first name
  NamedItems<Tensor> named_buffers(const std::string& prefix = "") const;
  NamedItems<Module*> named_modules(const std::string& prefix = "");
  NamedItems<Module*> named_children() const { return {children_.begin(), children_.end()}; }
  std::vector<Tensor> parameters(bool recurse = true) const;
  std::vector<Tensor> buffers() const { return named_buffers().values(); }
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true);  // those that nobody shares are borrowed
  // f(Module&), f(const std::string& name, Module&) or f(std::shared_ptr<Module>) for each.
  template <class F> void apply(F&& f);
  template <class M> auto* as() {  // null where it is something else; M may be libtorch's holder of a module
    if constexpr (requires { typename M::ContainedType; })
      return dynamic_cast<typename M::ContainedType*>(this);
    else
      return dynamic_cast<M*>(this);
  }
  // Parameters and persistent buffers, tied ones under every name; they share storage.
  NamedTensors state_dict() const;
  // Copies values by name. strict: any difference in names or shapes is one Error listing missing, unexpected and misshaped
  // keys. A scaled format (nf4, q8_0 ...) is copied only to the same one: another copy would round, or grow, unseen. assign:
  // the tensors themselves become the parameters and buffers, in their own dtypes.
  LoadReport load_state_dict(const NamedTensors& state, bool strict = true, bool assign = false);
  // Replaces a parameter's storage by another dtype's (f32 -> bf16, nf4 ...): what the module computes with from now on.
  void set_parameter(std::string_view name, const Tensor& value);

  Module& train(bool on = true);
  Module& eval() { return train(false); }
  bool training() const { return training_; }
  bool is_training() const { return training_; }
  std::string name() const { return name_.empty() ? kind() : name_; }
  void set_training(bool on) { training_ = on; }  // of this module alone
  // Floating-point parameters and buffers in another float dtype, gradients with them. Of a scaled format: what quantizable()
  // names, and the rest stays as it is.
  Module& to(DType dtype, bool /*non_blocking: what is called later waits for the copy*/ = false);
  Module& to(Device device,
             bool /*non_blocking: what is called later waits for the copy*/ = false);  // with gradients; not to or from meta
  Module& cuda() { return to(Device(DeviceType::cuda)); }
  Module& cpu() { return to(Device()); }
  Module& to(DeviceType device) { return to(Device(device)); }
  Module& to(Device device, DType dtype) { return to(device).to(dtype); }
  void zero_grad(bool set_to_none = true);
  void requires_grad_(bool on = true);
  std::string str();  // the module tree with parameters, bytes and dtype per line
  int64_t num_parameters() const;
  int64_t nbytes() const;  // of parameters and buffers, shared storage once

  // A name that is in use is replaced in its place. Entries may be empty (an undefined tensor, a null child): their names are
  // registered, and what lists parameters, buffers and modules passes them by.
  void add(std::string name, Module& child);                  // the child is a member of this module
  void add(std::string name, std::shared_ptr<Module> child);  // the child is kept alive here
  void add_parameter(std::string name, Tensor& slot);         // a member
  void add_buffer(std::string name, Tensor& slot);
  // The slot is made and kept here; the value is made to require grad (scaled formats never do).
  Tensor& register_parameter(std::string name, Tensor value, bool requires_grad = true);
  Tensor& register_buffer(std::string name, Tensor value, bool persistent = true);
  template <std::derived_from<Module> M> std::shared_ptr<M> register_module(std::string name, std::shared_ptr<M> child) {
    add(std::move(name), std::shared_ptr<Module>(child));
    return child;
  }
  template <class Holder>  // libtorch's holder of a module
    requires requires(const Holder& h) { std::shared_ptr<Module>(h.ptr()); }
  Holder register_module(std::string name, Holder child) {
    add(std::move(name), std::shared_ptr<Module>(child.ptr()));
    return child;
  }
  template <class Holder>
    requires requires(const Holder& h) { std::shared_ptr<Module>(h.ptr()); }
  Holder replace_module(const std::string& name, Holder child) {
    return register_module(name, std::move(child));
  }
  void unregister_module(std::string_view name) { remove(name); }
  bool is_persistent(std::string_view name) const;
  void remove(std::string_view name);  // a child, parameter or buffer of this module itself
  void vacate(std::string_view name);  // the same, and its name stays registered
  // A parameter that is computed from others from now on, until it is one again: what the module reads is in the slot, and
  // whoever computes it sets it before each forward.
  Tensor& begin_computed(std::string_view name);
  void end_computed(std::string_view name, Tensor parameter);
  const std::vector<std::pair<std::string, Tensor*>>& computed() const { return computed_; }
  void add_hook(std::shared_ptr<Hook> hook);  // the first one added runs first
  void remove_hook(const Hook* hook);
  bool hooked() const { return !hooks_.empty(); }
  const std::vector<std::pair<std::string, Module*>>& children() const { return children_; }
  const std::vector<std::shared_ptr<Module>>& owned_children() const { return owned_; }
  const std::vector<std::pair<std::string, Tensor*>>& own_parameters() const { return parameters_; }
  const std::vector<std::pair<std::string, Tensor*>>& own_buffers() const { return buffers_; }

 protected:
  // Hooks, then body(inputs), then hooks.
  template <class F> std::vector<Tensor> around(std::vector<Tensor> inputs, F body) {
    const std::vector<std::shared_ptr<Hook>> hooks = hooks_;
    for (auto& h : hooks) h->before(*this, inputs);
    std::vector<Tensor> results = body(inputs);
    for (auto& h : hooks) h->after(*this, inputs, results);
    return results;
  }

 private:
  friend class ModuleScope;
  NamedItems<Tensor*> saved_slots(const std::string& prefix) const;  // what state_dict() has
  uint32_t path_id();
  void name_paths(const std::string& path);
  void forget_paths();
  void drop_owned(Module* child);
  void disown(Module* parent);  // it no longer points here
  std::vector<std::pair<std::string, Module*>> children_;
  std::vector<std::shared_ptr<Module>> owned_;
  std::vector<std::unique_ptr<Tensor>> slots_;
  std::vector<std::pair<std::string, Tensor*>> parameters_, buffers_, computed_;
  std::vector<std::string> transient_;  // buffers that are not saved
  std::vector<std::shared_ptr<Hook>> hooks_;
  Module* parent_ = nullptr;
  std::vector<Module*> holders_;  // parents that would not keep this alive, and must hear of its end
  std::string name_;
  uint32_t path_ = 0;
  bool named_ = false, training_ = true;
};

template <class F> void Module::apply(F&& f) {
  for (auto& [name, module] : named_modules()) {
    if constexpr (std::is_invocable_v<F&, Module&>)
      f(*module);
    else if constexpr (std::is_invocable_v<F&, const std::string&, Module&>)
      f(name, *module);
    else
      f(std::shared_ptr<Module>(std::shared_ptr<Module>(), module));
  }
}
std::ostream& operator<<(std::ostream& out, Module& m);  // as str() shows it

// What runs while it lives is charged to the module.
class ModuleScope {
  uint32_t before_;

 public:
  explicit ModuleScope(Module& m);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
};

// The parameters of m that gain from being stored in a scaled format: matrices that products or lookups read (is_matrix) whose
// rows have a block of it at least, whole blocks where it asks for them. Tied ones once.
NamedItems<Tensor> quantizable(const Module& m, DType format);

// A fresh trainable tensor, uninitialized; counted as a parameter.
Tensor make_parameter(IntList sizes, Options options);

struct LinearOptions {
  ByName by_name = {};
  bool bias = true;
  DType dtype = {};
  Device device = cpu;
};
// y = x W^T + b. weight [out_features, in_features], bias [out_features], both from U(-1/sqrt(in), 1/sqrt(in)).
class Linear : public Module {
 public:
  Tensor weight, bias;
  int64_t in_features = 0, out_features = 0;
  Linear(int64_t in_features, int64_t out_features, bool bias = true, Options options = {});
  Linear(int64_t in_features, int64_t out_features, const LinearOptions& o)
      : Linear(in_features, out_features, o.bias, {o.dtype, o.device}) {}
  explicit Linear(Bare) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;
  const char* kind() const override { return "Linear"; }
};

// Scales the rows of weight that indices name to a norm of at most max_norm, in place and unrecorded.
void embedding_renorm_(const Tensor& weight, const Tensor& indices, double max_norm, double norm_type = 2);

struct EmbeddingOptions {
  ByName by_name = {};
  std::optional<int64_t> padding_idx = {};
  std::optional<double> max_norm = {};
  double norm_type = 2;
  bool scale_grad_by_freq = false;
  DType dtype = {};
  Device device = cpu;
};
// Rows of weight [num_embeddings, embedding_dim] by index; weight from N(0, 1). The row padding_idx (from the end if negative)
// begins as zeros and gets no gradient.
class Embedding : public Module {
 public:
  Tensor weight;
  int64_t num_embeddings = 0, embedding_dim = 0;
  std::optional<int64_t> padding_idx;
  bool scale_grad_by_freq = false;  // a row's gradient is divided by how often it is read
  std::optional<double> max_norm;   // rows that are read are first scaled to at most this norm, in place
  double norm_type = 2;
  Embedding(int64_t num_embeddings, int64_t embedding_dim, const EmbeddingOptions& options = {});
  Embedding(int64_t num_embeddings, int64_t embedding_dim, std::same_as<Options> auto options)
      : Embedding(num_embeddings, embedding_dim, {.dtype = options.dtype, .device = options.device}) {}
  explicit Embedding(Bare) {}
  Tensor forward(const Tensor& indices) override;
  std::string extra_repr() const override;
  const char* kind() const override { return "Embedding"; }
};

struct LayerNormOptions {
  ByName by_name = {};
  double eps = 1e-5;
  bool elementwise_affine = true;
  bool bias = true;
  DType dtype = {};
  Device device = cpu;
};
// (x - mean) / sqrt(variance + eps) over the last dimensions, times weight plus bias. (Ba et al. 2016.)
class LayerNorm : public Module {
 public:
  Tensor weight, bias;
  std::vector<int64_t> normalized_shape;
  double eps = 1e-5;
  bool elementwise_affine = true;  // as it was made
  LayerNorm(IntList normalized_shape, double eps = 1e-5, bool elementwise_affine = true, bool bias = true,
            Options options = {});
  // LayerNorm norm({48}): else {48} might be a LayerNorm, too.
  LayerNorm(std::initializer_list<int64_t> normalized_shape, double eps = 1e-5, bool elementwise_affine = true,
            bool bias = true, Options options = {});
  LayerNorm(IntList normalized_shape, const LayerNormOptions& o)
      : LayerNorm(normalized_shape, o.eps, o.elementwise_affine, o.bias, Options{o.dtype, o.device}) {}
  explicit LayerNorm(Bare) {}
  Tensor forward(const Tensor& x) override;
  std::string extra_repr() const override;
  const char* kind() const override { return "LayerNorm"; }
  bool is_matrix(std::string_view) const override { return false; }
};

// Modules run one after the other.
class Sequential : public Module {
 public:
  Sequential() = default;
  explicit Sequential(std::vector<std::shared_ptr<Module>> modules);
  void append(std::shared_ptr<Module> m);
  Tensor forward(const Tensor& x) override;
  const char* kind() const override { return "Sequential"; }
};

// A list of modules of one type that are called by hand.
template <class M> class ModuleList : public Module {
  struct Iterator {
    const std::pair<std::string, Module*>* at;
    M* operator*() const { return static_cast<M*>(at->second); }
    Iterator& operator++() { return ++at, *this; }
    bool operator==(const Iterator&) const = default;
  };

 public:
  void append(std::shared_ptr<M> m) { add(std::to_string(size()), std::static_pointer_cast<Module>(std::move(m))); }
  size_t size() const { return children().size(); }
  M& operator[](size_t i) { return static_cast<M&>(*children()[i].second); }
  Iterator begin() const { return {children().data()}; }
  Iterator end() const { return {children().data() + size()}; }
  const char* kind() const override { return "ModuleList"; }
};

namespace init {  // in place, no gradient; nothing happens on meta
void normal_(const Tensor& t, double mean = 0, double std = 1);
void uniform_(const Tensor& t, double a = 0, double b = 1);
void constant_(const Tensor& t, double value);
void trunc_normal_(const Tensor& t, double mean = 0, double std = 1, double a = -2,
                   double b = 2);                  // N(mean, std^2) within [a, b]
void eye_(const Tensor& t);                        // of a matrix
void dirac_(const Tensor& t, int64_t groups = 1);  // of a convolution's weight: each channel passes
// Glorot and Bengio 2010: variance gain^2 2 / (fan_in + fan_out).
void xavier_uniform_(const Tensor& t, double gain = 1);
void xavier_normal_(const Tensor& t, double gain = 1);
// He et al. 2015: variance gain^2 / fan, gain that of the nonlinearity (of leaky_relu with slope a).
void kaiming_uniform_(const Tensor& t, double a = 0, std::string_view mode = "fan_in",
                      std::string_view nonlinearity = "leaky_relu");
void kaiming_normal_(const Tensor& t, double a = 0, std::string_view mode = "fan_in",
                     std::string_view nonlinearity = "leaky_relu");
void orthogonal_(const Tensor& t, double gain = 1);  // rows or columns orthonormal, times gain (Saxe et al. 2013)
void sparse_(const Tensor& t, double sparsity, double std = 0.01);  // N(0, std^2), a share of each column zero (Martens 2010)
double calculate_gain(std::string_view nonlinearity, std::optional<double> param = {});
}  // namespace init

}  // namespace dyadic::inline v1::nn
