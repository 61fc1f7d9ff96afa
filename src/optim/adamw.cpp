#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "corridor/counters.h"
#include "dyadic/optim.h"
#include "optim/adamw_kernel.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::optim {
namespace {

AdamwState view_state(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  if (!i.dtype.is_scaled()) return {i.data(), nullptr};
  PlaneList planes = i.dtype.format()->def->planes(*i.dtype.format(), i.storage->geometry);
  char* base = static_cast<char*>(i.storage->data);
  return {base + planes.plane[0].offset, reinterpret_cast<float*>(base + planes.plane[1].offset)};
}

}  // namespace

AdamW::AdamW(nn::NamedTensors params, AdamWOptions options, std::vector<std::string> keep32)
    : AdamW(std::vector<ParamGroup>{{std::move(params), options}}, std::move(keep32)) {}

AdamW::AdamW(std::vector<ParamGroup> groups, std::vector<std::string> keep32)
    : groups_(std::move(groups)), keep32_(std::move(keep32)) {
  for (const ParamGroup& g : groups_) {
    const AdamWOptions& o = g.options;
    DY_CHECK_AS(ValueError,
                o.lr >= 0 && o.beta1 >= 0 && o.beta1 < 1 && o.beta2 >= 0 && o.beta2 < 1 && o.eps >= 0 && o.weight_decay >= 0,
                "AdamW: an option is out of range: lr {}, betas {} and {}, eps {}, weight_decay {}", o.lr, o.beta1, o.beta2,
                o.eps, o.weight_decay);
    DY_CHECK_AS(ValueError, o.state == f32 || o.state == dynamic8, "AdamW: states are f32 or dynamic8, not {}", o.state.name());
    for (auto& [name, p] : g.params)
      DY_CHECK_AS(TypeError, p.dtype() == f32 || p.dtype() == bf16 || p.dtype() == f16,
                  "AdamW: {} is {}; parameters are f32, bf16 or f16", name, describe(p));
  }
}

AdamW::State& AdamW::state_of(const std::string& name, const Tensor& p, const AdamWOptions& o) {
  State& s = states_[name];
  if (s.m.defined()) return s;
  bool small = p.numel() < 4096 || std::find(keep32_.begin(), keep32_.end(), name) != keep32_.end();
  CategoryScope scope(Category::optimizer);
  bool eight = o.state == dynamic8 && !small;
  NoGrad guard;
  s.m = make_tensor({p.numel()}, eight ? dynamic8 : f32, p.device());
  s.v = make_tensor({p.numel()}, eight ? udynamic8 : f32, p.device());
  if (!p.is_meta()) {
    if (eight) {
      std::vector<float> zeros(size_t(p.numel()), 0.f);
      for (const Tensor& t : {s.m, s.v}) {
        const Format& f = *t.dtype().format();
        encode_scaled(f, zeros.data(), t.impl()->storage->data, t.impl()->storage->geometry);
      }
    } else {
      s.m.zero_();
      s.v.zero_();
    }
  }
  return s;
}

void AdamW::step(double grad_scale) {
  NoGrad guard;
  ++step_;
  uint64_t stream = 0;
  for (ParamGroup& g : groups_)
    for (auto& [name, p] : g.params) {
      ++stream;
      Tensor grad = p.grad();
      if (!grad.defined()) continue;
      const AdamWOptions& o = g.options;
      State& s = state_of(name, p, o);
      int64_t n = p.numel();
      double bytes = double(p.nbytes()) * 2 + double(grad.nbytes()) + 2 * double(s.m.nbytes() + s.v.nbytes());
      if (t_modes & kCounting) count_work("adamw", s.m.dtype(), 16.0 * double(n), bytes);
      if (p.is_meta()) continue;
      DY_CHECK(p.is_contiguous() && grad.is_contiguous(), "AdamW: {} or its gradient is not contiguous", name);
      AdamwArrays a{{p.impl()->data(), p.dtype().format()},
                    {grad.impl()->data(), grad.dtype().format()},
                    view_state(s.m),
                    view_state(s.v),
                    n};
      AdamwStep k;
      k.lr = o.lr;
      k.beta1 = o.beta1;
      k.beta2 = o.beta2;
      k.eps = o.eps;
      k.weight_decay = o.weight_decay;
      k.bias1 = 1 - std::pow(o.beta1, double(step_));
      k.bias2 = 1 - std::pow(o.beta2, double(step_));
      k.grad_scale = grad_scale;
      if (o.stochastic_rounding) k.rounding = {Rounding::stochastic, o.seed + uint64_t(step_) * 0x9e3779b97f4a7c15u, stream, 0};
      UpdateCount c = adamw_kernel().step(a, k);
      meter_.nonzero += c.nonzero;
      meter_.lost += c.lost;
      bump(p);
    }
}

void AdamW::zero_grad(bool set_to_none) {
  for (ParamGroup& g : groups_)
    for (auto& [name, p] : g.params) {
      if (set_to_none)
        p.set_grad({});
      else if (Tensor d = p.grad(); d.defined())
        d.zero_();
    }
}
void AdamW::set_lr(double lr) {
  for (ParamGroup& g : groups_) g.options.lr = lr;
}

nn::NamedTensors AdamW::state_dict() {
  nn::NamedTensors out;
  for (auto& [name, s] : states_) {
    out.emplace_back("exp_avg." + name, s.m);
    out.emplace_back("exp_avg_sq." + name, s.v);
  }
  return out;
}
void AdamW::load_state_dict(const nn::NamedTensors& state, int64_t step) {
  std::map<std::string, Tensor> given(state.begin(), state.end());
  size_t used = 0;
  for (ParamGroup& g : groups_)
    for (auto& [name, p] : g.params) {
      auto m = given.find("exp_avg." + name), v = given.find("exp_avg_sq." + name);
      if (m == given.end() || v == given.end()) continue;
      State& s = state_of(name, p, g.options);
      DY_CHECK(m->second.numel() == p.numel() && m->second.dtype() == s.m.dtype() && v->second.dtype() == s.v.dtype(),
               "AdamW: the saved state of {} does not fit: it is {}, here {}", name, describe(m->second), describe(s.m));
      s.m.copy_(m->second);
      s.v.copy_(v->second);
      used += 2;
    }
  DY_CHECK(used == given.size(), "AdamW: {} saved states belong to no parameter here; is it the same model?",
           given.size() - used);
  step_ = step;
}

}  // namespace dyadic::inline v1::optim
