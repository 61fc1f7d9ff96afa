// One parameter's step, as an optimizer's record sees it: options, gradient, states by name, and the rules that run over them.
#pragma once
#include "dyadic/optim.h"
#include "optim/rule.h"
#include "optim/update_op.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::optim {

// As records spell them: 1e-3, (0.9, 0.999), True, None, "original".
Option read_option(std::string_view text);
std::vector<OptionDef> read_signature(std::string text);  // "SGD(float lr=1e-3)"
void check_option(const std::string& who, const OptionDef& def, const Option& value);
void check_state_dtype(const std::string& who, DType d);

enum class Sign : uint8_t { any, positive };  // of a state's elements: 8-bit formats have a variant without sign
// What a state of p is kept in.
DType state_dtype(const Options& o, bool keep32, const Tensor& p, Sign sign);
enum class Decay : uint8_t { none, coupled, decoupled };  // weight_decay added to the gradient, or taken from the parameter

struct StateRef {
  const char* name;
  Sign sign = Sign::any;
  double initial = 0;
};

class Update {
 public:
  const Options& o;
  const std::string& name;
  Tensor p, grad;    // grad may have another layout than p
  double scale;      // of the gradient: grad_scale, negative to maximize
  int64_t t;         // this parameter's step, from 1
  double lr, decay;  // decay: 0 where there is no weight_decay

  Update(Optimizer& optimizer, ParamGroup& group, const std::string& name, ParamState& state, uint64_t stream,
         double grad_scale);

  double number(std::string_view key, size_t i = 0) const { return o.number(key, i); }
  bool flag(std::string_view key) const { return o.flag(key); }
  double beta(size_t i) const { return o.number("betas", i); }
  double bias(size_t i) const;  // 1 - beta^t

  // A state of p's shape, flat, in the format that `state` asks for; made when first asked for.
  Tensor& state(const StateRef& s);
  Tensor* find(std::string_view key);
  Tensor& own(const char* key, const Tensor& initial);  // a state tensor of another shape or dtype
  double& remembered(const char* key, double initial);  // a number

  // Where p and its states allow it (f32 or dynamic8, no f64), AdamW's own kernel.
  bool run_adamw(double weight_decay);
  void run(const Rule& rule, std::initializer_list<StateRef> states, std::initializer_list<double> constants, Decay how);
  // Of a rule that measures: squares of parameter and step.
  RuleResult measure(const Rule& rule, std::initializer_list<StateRef> states, std::initializer_list<double> constants);
  // For optimizers that are no elementwise rules: the gradient as they see it, in p's compute dtype; p - step.
  Tensor gradient() const;
  void subtract(const Tensor& step, Decay how = Decay::none);

 private:
  UpdateNumbers numbers_of(const Rule& rule, size_t states, std::initializer_list<double> constants, Decay how) const;
  Tensor call(const Rule* rule, std::initializer_list<StateRef> states, const UpdateNumbers& numbers);
  Tensor* rest();  // what rounding p leaves, if that is kept
  Optimizer& optimizer_;
  ParamGroup& group_;
  ParamState& state_;
  uint64_t stream_, seed_;
  bool stochastic_;
};

}  // namespace dyadic::inline v1::optim
