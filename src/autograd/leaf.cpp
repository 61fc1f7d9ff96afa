// Where gradients end: .grad of leaves and of what retains it, and the hooks on the way there.
#include "autograd/leaf.h"

#include <atomic>

#include "base/log.h"
#include "corridor/counters.h"
#include "dyadic/autograd.h"
#include "dyadic/ops.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1 {
namespace {

std::atomic<bool> g_leaf_hooks = false;  // some leaf has had a hook

// Among a leaf's hooks: what waits until .grad is there.
struct AfterAccumulation {
  std::function<void(const Tensor&)> run;
  Tensor operator()(const Tensor&) const { return Tensor(); }
};

void put(AutoMeta& m, Tensor g, bool create) {
  if (!m.grad.defined()) {
    TensorImpl& i = *g.impl();
    bool own = is_sole(i) && i.contiguous();
    if (!own && !create) {
      CategoryScope scope(Category::gradient);
      g = g.clone();
    } else if (own && !create) {
      set_category(g, Category::gradient);
    }
    m.grad = std::move(g);
    return;
  }
  if (create)
    m.grad = add(m.grad, g);
  else
    m.grad.add_(g);
}

}  // namespace

bool leaves_have_hooks() { return g_leaf_hooks.load(std::memory_order_relaxed); }

Tensor run_hook(const Hook& hook, const Tensor& g) {
  Tensor r = hook(g);
  DY_CHECK(!r.defined() || (r.sizes() == g.sizes() && r.dtype() == g.dtype() && r.device() == g.device()),
           "backward: a hook returns another kind of tensor: it was given {}, it returns {}; return one like it, or nothing",
           describe(g), describe(r));
  return r.defined() ? r : g;
}
void leave_gradient(TensorImpl& leaf, Tensor g, bool create) {
  AutoMeta& m = auto_meta(leaf);
  for (const Hook& hook : m.hooks) g = run_hook(hook, g);
  if (t_step_watcher) [[unlikely]]
    t_step_watcher->leaf(leaf);
  put(m, std::move(g), create);
  if (t_step_watcher) [[unlikely]]
    t_step_watcher->gave(leaf);
  for (const Hook& hook : m.hooks)
    if (auto* after = hook.target<AfterAccumulation>()) after->run(borrow(&leaf));
}

Tensor KeepGradient::operator()(const Tensor& g) const {
  *slot = slot->defined() ? add(*slot, g) : g.clone();
  return Tensor();
}

Tensor Tensor::grad() const {
  if (!p_) return Tensor();
  if (!p_->meta) {
    if (!is_leaf())
      warn(
          "grad: this tensor is no leaf: backward leaves no gradient there; call retain_grad() on it first, or read the "
          "leaf's");
    return Tensor();
  }
  return p_->meta->retained ? *p_->meta->retained : p_->meta->grad;
}
void Tensor::retain_grad() const {
  DY_CHECK(requires_grad(), "retain_grad: {} does not require grad", describe(*this));
  if (is_leaf() || auto_meta(*p_).retained) return;
  auto_meta(*p_).retained = std::make_shared<Tensor>();
  node_extra(*p_->node).hooks.emplace_back(p_->output, KeepGradient{p_->meta->retained});
}
void Tensor::set_grad(const Tensor& g) const {
  if (!g.defined() && !p_->meta) return;
  DY_CHECK(!g.defined() || (g.sizes() == sizes() && g.dtype() == dtype() && g.device() == device() && g.impl() != p_),
           "grad: it does not fit: the tensor is {}, the gradient {}; give another tensor of its shape, dtype and device",
           describe(*this), describe(g));
  if (t_step_watcher) t_step_watcher->leaf(*p_);
  auto_meta(*p_).grad = g;
  if (t_step_watcher) t_step_watcher->gave(*p_);
}
Tensor& Tensor::requires_grad_(bool on) {
  if (!is_leaf()) {  // it does already
    DY_CHECK(on, "requires_grad_: not a leaf: {} was made by {}; detach() it first", describe(*this), grad_fn().name());
    return *this;
  }
  DY_CHECK(!on || !dtype().is_scaled(),
           "requires_grad_: {} holds codes, not weights that can move; train with QAT on float weights, or add LoRA factors",
           describe(*this));
  DY_CHECK(!on || dtype().is_floating_point() || dtype().is_complex(),
           "requires_grad_: only floating-point and complex tensors have gradients: this is {}", describe(*this));
  DY_CHECK(!on || !p_->storage->inference || t_inference,
           "requires_grad_: a tensor of inference mode takes no gradient outside of it: {}; clone() it first", describe(*this));
  // (A recorded step holds the memory of what it reads.)
  const bool changes = on != bool(p_->flags & kRequiresGrad) && p_->storage->refs.load() > 1;
  if (changes && !t_step_watcher) structure_changed();
  p_->flags = uint8_t(on ? (p_->flags | kRequiresGrad) & ~kUncounted : p_->flags & ~kRequiresGrad);
  if (on) drop_base(*p_);  // a leaf of its own, whatever becomes of the base
  return *this;
}
void detail::register_hook(const Tensor& t, std::shared_ptr<void> hook, HookCall call) {
  DY_CHECK(t.requires_grad(), "register_hook: {} does not require grad", describe(t));
  structure_changed();
  Hook own = [hook = std::move(hook), call](const Tensor& g) { return call(hook.get(), g); };
  if (t.is_leaf())
    g_leaf_hooks = true, auto_meta(*t.impl()).hooks.push_back(std::move(own));
  else
    node_extra(*t.impl()->node).hooks.emplace_back(t.impl()->output, std::move(own));
}

void detail::register_late_hook(const Tensor& t, std::shared_ptr<void> hook, LateHookCall call) {
  DY_CHECK(t.requires_grad() && t.is_leaf(),
           "register_post_accumulate_grad_hook: no leaf that requires grad, so nothing accumulates: self is {}", describe(t));
  structure_changed();
  g_leaf_hooks = true;
  auto_meta(*t.impl()).hooks.push_back(
      AfterAccumulation{[hook = std::move(hook), call](const Tensor& leaf) { call(hook.get(), leaf); }});
}

}  // namespace dyadic::inline v1
