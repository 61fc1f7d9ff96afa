// Modules held by shared pointers: TORCH_MODULE, Sequential of any modules, Functional, ModuleList, initialization.
#pragma once
#include "dyadic/torch/names.h"

namespace torch::nn {

using dyadic::nn::Module;
namespace utils {
using dyadic::nn::utils::clip_grad_norm_, dyadic::nn::utils::clip_grad_value_;
inline Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> flat;
  for (const Tensor& p : parameters) flat.push_back(p.reshape({-1}));
  return cat(flat);
}
inline void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters) {
  dyadic::NoGrad guard;
  int64_t at = 0;
  for (const Tensor& p : parameters) {
    p.copy_(vector.slice(0, at, at + p.numel()).view(p.sizes()));
    at += p.numel();
  }
}
namespace rnn {
// Sequences [T_i, ...] as [T, N, ...], or [N, T, ...].
inline Tensor pad_sequence(const std::vector<Tensor>& sequences, bool batch_first = false, double padding_value = 0) {
  int64_t longest = 0;
  for (const Tensor& s : sequences) longest = std::max(longest, s.size(0));
  std::vector<Tensor> padded;
  for (const Tensor& s : sequences) {
    std::vector<int64_t> size = s.sizes().vec();
    size[0] = longest - s.size(0);
    padded.push_back(cat({s, s.new_full(size, padding_value)}));
  }
  return stack(padded, batch_first ? 0 : 1);
}
}  // namespace rnn
}  // namespace utils

// Shares a module: copies are the same one. Linear(3, 2) makes one, {nullptr} none; fc->weight, fc(x).
template <class Contained> class ModuleHolder {
 protected:
  std::shared_ptr<Contained> impl_;

 public:
  using ContainedType = Contained;
  ModuleHolder()
    requires std::default_initializable<Contained>
      : impl_(std::make_shared<Contained>()) {}
  ModuleHolder(std::nullptr_t) {}
  ModuleHolder(std::shared_ptr<Contained> module) : impl_(std::move(module)) {}
  template <class Head, class... Tail>
    requires(sizeof...(Tail) > 0 || (!std::derived_from<std::remove_cvref_t<Head>, ModuleHolder> &&
                                     !std::convertible_to<Head, std::shared_ptr<Contained>>))
  explicit ModuleHolder(Head&& head, Tail&&... tail)
      : impl_(std::make_shared<Contained>(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}

  explicit operator bool() const { return bool(impl_); }
  bool is_empty() const { return !impl_; }
  Contained* operator->() const { return get(); }
  Contained& operator*() const { return *get(); }
  const std::shared_ptr<Contained>& ptr() const { return impl_; }
  Contained* get() const {
    TORCH_CHECK(impl_, "the holder has no module: it was made from nullptr");
    return impl_.get();
  }
  template <class A> decltype(auto) operator[](A&& a) const { return (*get())[std::forward<A>(a)]; }
  template <class... A> decltype(auto) operator()(A&&... a) const {
    dyadic::nn::ModuleScope scope(*get());
    return impl_->forward(std::forward<A>(a)...);
  }
};
template <class M> std::ostream& operator<<(std::ostream& out, const ModuleHolder<M>& m) { return out << m->str(); }

#define TORCH_MODULE_IMPL(Name, ImplType)                  \
  class Name : public torch::nn::ModuleHolder<ImplType> {  \
   public:                                                 \
    using torch::nn::ModuleHolder<ImplType>::ModuleHolder; \
    using Impl = ImplType;                                 \
  }
#define TORCH_MODULE(Name) TORCH_MODULE_IMPL(Name, Name##Impl)

template <class Derived> class Cloneable : public Module {
 public:
  using Module::Module;
  virtual void reset() = 0;
};

// A module with its own forward, of one tensor.
class AnyModule {
  std::shared_ptr<Module> module_{};
  std::function<Tensor(const Tensor&)> forward_{};

 public:
  AnyModule() = default;
  template <std::derived_from<Module> M>
  AnyModule(std::shared_ptr<M> m)
      : module_(m), forward_([m = m.get()](const Tensor& x) -> Tensor {
          dyadic::nn::ModuleScope scope(*m);
          using R = std::remove_cvref_t<decltype(m->forward(x))>;
          if constexpr (std::convertible_to<R, Tensor>)
            return m->forward(x);
          else
            return std::get<0>(m->forward(x));  // of several results the first goes on
        }) {}
  template <class M> AnyModule(const ModuleHolder<M>& m) : AnyModule(m.ptr()) {}
  template <std::derived_from<Module> M> explicit AnyModule(M m) : AnyModule(std::make_shared<M>(std::move(m))) {}
  Tensor forward(const Tensor& x) const { return forward_(x); }
  const std::shared_ptr<Module>& ptr() const { return module_; }
  bool is_empty() const { return !module_; }
  template <class M> auto& get() const { return *module_->as<M>(); }
};
class NamedAnyModule {
  std::string name_;
  AnyModule module_;

 public:
  template <class M> NamedAnyModule(std::string name, const M& m) : name_(std::move(name)), module_(m) {}
  const std::string& name() const { return name_; }
  const AnyModule& module() const { return module_; }
};

class SequentialImpl : public Module {
  std::vector<AnyModule> modules_{};

 public:
  SequentialImpl() = default;
  SequentialImpl(std::initializer_list<NamedAnyModule> named) {
    for (auto& m : named) push_back(m.name(), m.module());
  }
  template <class... M>
    requires(sizeof...(M) > 0 && (std::constructible_from<AnyModule, const std::remove_cvref_t<M>&> && ...))
  explicit SequentialImpl(M&&... modules) {
    (push_back(std::forward<M>(modules)), ...);
  }
  void push_back(std::string name, AnyModule m) {
    register_module(std::move(name), m.ptr());
    modules_.push_back(std::move(m));
  }
  template <class M>
    requires std::constructible_from<AnyModule, const M&>
  void push_back(std::string name, const M& m) {
    push_back(std::move(name), AnyModule(m));
  }
  template <class M>
    requires std::constructible_from<AnyModule, const M&>
  void push_back(const M& m) {
    push_back(std::to_string(size()), AnyModule(m));
  }
  void push_back(const NamedAnyModule& m) { push_back(m.name(), m.module()); }
  template <class Container> void extend(const Container& modules) {
    for (auto& m : modules) push_back(m);
  }
  Tensor forward(const Tensor& x) override {
    TORCH_CHECK(!modules_.empty(), "Sequential: it holds no module to call");
    Tensor y = x;
    for (auto& m : modules_) y = m.forward(y);
    return y;
  }
  size_t size() const { return modules_.size(); }
  bool is_empty() const { return modules_.empty(); }
  std::shared_ptr<Module> ptr(size_t i) const { return modules_.at(i).ptr(); }
  std::shared_ptr<Module> operator[](size_t i) const { return ptr(i); }
  template <class M> auto& at(size_t i) const { return *ptr(i)->template as<M>(); }
  auto begin() { return modules_.begin(); }
  auto end() { return modules_.end(); }
  const char* kind() const override { return "Sequential"; }
};
class Sequential : public ModuleHolder<SequentialImpl> {
 public:
  using ModuleHolder::ModuleHolder;
  using Impl = SequentialImpl;
  Sequential() : ModuleHolder() {}
  Sequential(std::initializer_list<NamedAnyModule> named) : ModuleHolder(std::make_shared<SequentialImpl>(named)) {}
};

// A function as a module; arguments behind the input are kept: Functional(torch::max_pool2d, 2, 2, 0, 1, false).
class FunctionalImpl : public Module {
  std::function<Tensor(Tensor)> function_;

 public:
  FunctionalImpl(std::function<Tensor(Tensor)> function) : function_(std::move(function)) {}
  template <class F, class... A>
    requires(sizeof...(A) > 0)
  FunctionalImpl(F function, A... a) : function_([=](const Tensor& x) { return Tensor(function(x, a...)); }) {}
  Tensor forward(const Tensor& x) override { return function_(x); }
  const char* kind() const override { return "Functional"; }
};
TORCH_MODULE(Functional);

class ModuleListImpl : public Module {
  std::vector<std::shared_ptr<Module>> modules_{};

 public:
  ModuleListImpl() = default;
  template <class... M>
    requires(sizeof...(M) > 0)
  explicit ModuleListImpl(M&&... modules) {
    (push_back(std::forward<M>(modules)), ...);
  }
  template <std::derived_from<Module> M> void push_back(const std::shared_ptr<M>& m) {
    register_module(std::to_string(size()), m);
    modules_.push_back(m);
  }
  template <class M> void push_back(const ModuleHolder<M>& m) { push_back(m.ptr()); }
  size_t size() const { return modules_.size(); }
  bool is_empty() const { return modules_.empty(); }
  std::shared_ptr<Module> ptr(size_t i) const { return modules_.at(i); }
  std::shared_ptr<Module> operator[](size_t i) const { return modules_.at(i); }
  template <class M> auto& at(size_t i) const { return *modules_.at(i)->template as<M>(); }
  auto begin() const { return modules_.begin(); }
  auto end() const { return modules_.end(); }
  const char* kind() const override { return "ModuleList"; }
};
TORCH_MODULE(ModuleList);

class ModuleDictImpl : public Module {
 public:
  template <class M> void insert(const std::string& name, const ModuleHolder<M>& m) { register_module(name, m.ptr()); }
  std::shared_ptr<Module> operator[](const std::string& name) const {
    for (auto& m : owned_children())
      for (auto& [key, child] : children())
        if (key == name && child == m.get()) return m;
    throw ValueError("ModuleDict: no entry is called \"" + name + "\"");
  }
  bool contains(const std::string& name) const { return named_children().contains(name); }
  size_t size() const { return children().size(); }
  const char* kind() const override { return "ModuleDict"; }
};
TORCH_MODULE(ModuleDict);

// Borders of so many elements, the last dimension's first: ReflectionPad2d(1), ZeroPad2d(ZeroPad2dOptions({1, 1, 2, 2})).
template <size_t D> class PadOptions {
 public:
  PadOptions(Ints padding) : padding_(padding.size() == 1 ? Ints(std::vector<int64_t>(2 * D, padding[0])) : padding) {}
  PadOptions(std::initializer_list<int64_t> padding) : padding_(padding) {}
  PadOptions(Ints padding, double value) : PadOptions(padding) { value_ = value; }
  TORCH_ARG(Ints, padding);
  TORCH_ARG(double, value) = 0;
};
template <size_t D> class PadImpl : public Module {
  const char* mode_;

 public:
  PadOptions<D> options;
  PadImpl(const char* mode, const PadOptions<D>& o) : mode_(mode), options(o) {}
  Tensor forward(const Tensor& x) override {
    const bool constant = std::string_view(mode_) == "constant";
    return dyadic::pad(x, options.padding(), mode_, constant ? std::optional(options.value()) : std::nullopt);
  }
};
#define DY_PAD(Name, D, mode)                                         \
  using Name##Options = PadOptions<D>;                                \
  struct Name##Impl : PadImpl<D> {                                    \
    explicit Name##Impl(const PadOptions<D>& o) : PadImpl(mode, o) {} \
    const char* kind() const override { return #Name; }               \
  };                                                                  \
  TORCH_MODULE(Name)
DY_PAD(ZeroPad1d, 1, "constant");
DY_PAD(ZeroPad2d, 2, "constant");
DY_PAD(ZeroPad3d, 3, "constant");
DY_PAD(ConstantPad1d, 1, "constant");
DY_PAD(ConstantPad2d, 2, "constant");
DY_PAD(ConstantPad3d, 3, "constant");
DY_PAD(ReflectionPad1d, 1, "reflect");
DY_PAD(ReflectionPad2d, 2, "reflect");
DY_PAD(ReflectionPad3d, 3, "reflect");
DY_PAD(ReplicationPad1d, 1, "replicate");
DY_PAD(ReplicationPad2d, 2, "replicate");
DY_PAD(ReplicationPad3d, 3, "replicate");
#undef DY_PAD

class IdentityImpl : public Module {
 public:
  Tensor forward(const Tensor& x) override { return x; }
  const char* kind() const override { return "Identity"; }
};
TORCH_MODULE(Identity);

namespace init {
using namespace dyadic::nn::init;
inline void ones_(const Tensor& t) { constant_(t, 1); }
inline void zeros_(const Tensor& t) { constant_(t, 0); }
}  // namespace init
}  // namespace torch::nn
