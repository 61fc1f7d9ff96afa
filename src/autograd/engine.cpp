// Nodes run in the reverse order of their creation: whatever consumed an output has a higher number than what made it, so when
// a node comes up all its gradients are there. No counting of dependencies, no recursion, and the order is the same every time.
// Leaves have no number: those with hooks wait for the first node that was made of their readers.
#include "autograd/engine.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "base/log.h"
#include "corridor/counters.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1 {
namespace {

struct NodeRef {  // a strong reference for the length of a run
  Node* n = nullptr;
  NodeRef() = default;
  explicit NodeRef(Node* n) : n(n) { n->refs.fetch_add(1, std::memory_order_relaxed); }
  NodeRef(NodeRef&& o) noexcept : n(std::exchange(o.n, nullptr)) {}
  NodeRef& operator=(NodeRef&& o) noexcept {
    std::swap(n, o.n);
    return *this;
  }
  ~NodeRef() {
    if (n) release(n);
  }
};

// Among a leaf's hooks: what waits until .grad is there.
struct AfterAccumulation {
  std::function<void(const Tensor&)> run;
  Tensor operator()(const Tensor&) const { return Tensor(); }
};

thread_local Node* t_function = nullptr;  // whose own backward runs
std::atomic<bool> g_leaf_hooks = false;   // some leaf has had a hook

Tensor run_hook(const Hook& hook, const Tensor& g) {
  Tensor r = hook(g);
  DY_CHECK(!r.defined() || (r.sizes() == g.sizes() && r.dtype() == g.dtype() && r.device() == g.device()),
           "backward: a hook returns another kind of tensor: it was given {}, it returns {}; return one like it, or nothing",
           describe(g), describe(r));
  return r.defined() ? r : g;
}
thread_local bool t_in_region = false;  // a backward inside of an autocast region has been seen

Edge edge_of(const Tensor& t) {
  Edge e;
  e.node = fresh(*t.impl()).node;
  e.output = e.node ? t.impl()->output : uint16_t(0);
  if (!e.node) e.leaf = t.impl();
  return e;
}

Tensor root_gradient(const Tensor& t, const Tensor& g) {
  DY_CHECK(t.requires_grad(), "backward: nothing to differentiate: {} does not require grad and has no grad_fn", describe(t));
  if (!g.defined()) {
    DY_CHECK(t.numel() == 1 && !t.dtype().is_complex(),
             "backward: the output is not a {}: it is {}; give the gradient, as in y.backward(ones_like(y))",
             t.numel() == 1 ? "real number" : "scalar", describe(t));
    return ones_like(t.detach());
  }
  DY_CHECK(g.sizes() == t.sizes(), "backward: the gradient's shape differs: output is {}, gradient is {}", describe(t),
           describe(g));
  DY_CHECK(g.device() == t.device(), "backward: the gradient is on another device: output is {} on {}, gradient is {} on {}",
           describe(t), t.device().name(), describe(g), g.device().name());
  return g;
}

class Run {
  struct Pending {
    NodeRef node;
    Tensor few[kMaxOutputs];
    std::unique_ptr<Tensor[]> many;  // a function's outputs may be more than an op's
    void open(Node* n) {
      node = NodeRef(n);
      if (n->nout > kMaxOutputs) many = std::make_unique<Tensor[]>(n->nout);
    }
    void close() {
      node = NodeRef();
      many.reset();
    }
    Tensor* g() { return many ? many.get() : few; }
  };
  using Frontier = std::map<uint64_t, Pending, std::greater<>>;  // by creation, the latest first
  Frontier pending_;
  Frontier::node_type spare_;  // its memory serves again: a chain allocates once
  bool keep_, create_;
  // Leaves with hooks, which are to see the whole gradient: it is there once the first that was made of the nodes that read the
  // leaf has run.
  std::unordered_map<TensorImpl*, Tensor> sums_;
  std::multimap<uint64_t, Tensor, std::greater<>> complete_;  // the leaves by that node

 public:
  // Where gradients of requested inputs go; empty: into the leaves' .grad.
  struct Wanted {
    Edge edge;
    Tensor* result;
  };
  std::vector<Wanted> wanted;

  Run(bool keep, bool create) : keep_(keep), create_(create) {}

  void deliver(const Edge& e, Tensor g) {
    if (!g.defined()) return;
    if (e.node) return accumulate(pending(e.node).g()[e.output], std::move(g));
    for (Wanted& w : wanted)
      if (w.edge.leaf == e.leaf) accumulate(*w.result, g);
    if (wanted.empty()) leaf(*e.leaf, std::move(g));
  }
  void run() {
    // What backward runs in is what forward ran in: policies do not apply to it, in the region or after it.
    const ModeScope plain(0, kAutocast | kAutocastOff);
    if ((plain.before & kAutocast) && !std::exchange(t_in_region, true))
      warn(
          "autocast: backward() inside of the region; it runs in the dtypes of forward all the same: call it after the region");
    if (g_leaf_hooks.load(std::memory_order_relaxed) && wanted.empty()) find_hooked_leaves();
    while (!pending_.empty()) {
      Frontier::node_type first = pending_.extract(pending_.begin());
      step(*first.mapped().node.n, first.mapped().g());
      first.mapped().close();
      while (!complete_.empty() && complete_.begin()->first >= first.key()) finish_first();
      spare_ = std::move(first);
    }
    while (!complete_.empty()) finish_first();
  }
  // The whole way; gradients of `inputs`, or with none of them into the leaves.
  std::vector<Tensor> through(const char* who, std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                              std::span<const Tensor> grad_outputs) {
    std::vector<Tensor> results(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      DY_CHECK(inputs[i].requires_grad(), "{}: an input does not require grad: input {} is {}", who, i, describe(inputs[i]));
      wanted.push_back({edge_of(inputs[i]), &results[i]});
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      deliver(edge_of(outputs[i]), root_gradient(outputs[i], i < grad_outputs.size() ? grad_outputs[i] : Tensor()));
    run();
    for (const Wanted& w : wanted)
      if (w.edge.leaf && w.result->defined())
        for (const Hook& hook : auto_meta(*w.edge.leaf).hooks) *w.result = run_hook(hook, *w.result);
    return results;
  }
  void into(const Tensor& t, const Tensor& g) {
    if (t.is_leaf()) return leaf(*t.impl(), g);
    std::shared_ptr<Tensor>& slot = auto_meta(*t.impl()).retained;
    slot = std::make_shared<Tensor>(slot && slot->defined() ? add(*slot, g) : g);
  }

 private:
  Pending& pending(Node* n) {
    auto it = pending_.lower_bound(n->seq);
    if (it != pending_.end() && it->first == n->seq) return it->second;
    if (spare_.empty()) {
      it = pending_.try_emplace(it, n->seq);
    } else {
      spare_.key() = n->seq;
      it = pending_.insert(it, std::move(spare_));
    }
    it->second.open(n);
    return it->second;
  }
  // In place when nobody else can see the sum so far.
  void accumulate(Tensor& sum, Tensor g) {
    if (!sum.defined()) {
      sum = std::move(g);
      return;
    }
    TensorImpl& s = *sum.impl();
    bool own = !create_ && s.refs.load() == 1 && s.storage->refs.load() == 1 && s.contiguous() && sum.dtype() == g.dtype() &&
               sum.sizes() == g.sizes();
    if (own)
      sum.add_(g);
    else
      sum = add(sum, g);
  }
  void find_hooked_leaves() {
    std::vector<std::pair<TensorImpl*, uint64_t>> first;  // in the order in which they are found: the same every time
    std::unordered_map<TensorImpl*, size_t> found;
    std::vector<Node*> todo;
    for (auto& [seq, p] : pending_) todo.push_back(p.node.n);
    std::unordered_set<Node*> seen(todo.begin(), todo.end());
    while (!todo.empty()) {
      const Node& n = *todo.back();
      todo.pop_back();
      for (int i = 0; i < n.nin; ++i) {
        const Edge& e = n.edges[i];
        if (!e.used()) continue;
        if (e.node) {
          if (seen.insert(e.node).second) todo.push_back(e.node);
        } else if (e.leaf->meta && !e.leaf->meta->hooks.empty()) {
          const auto [at, fresh] = found.try_emplace(e.leaf, first.size());
          if (fresh) first.emplace_back(e.leaf, n.seq);
          uint64_t& seq = first[at->second].second;
          seq = std::min(seq, n.seq);
        }
      }
    }
    for (auto [leaf, seq] : first) {
      sums_.try_emplace(leaf);
      complete_.emplace(seq, borrow(leaf));
    }
  }
  void finish_first() {
    auto first = complete_.extract(complete_.begin());
    TensorImpl& leaf = *first.mapped().impl();
    if (Tensor sum = std::exchange(sums_[&leaf], Tensor()); sum.defined()) finish(leaf, std::move(sum));
  }
  void leaf(TensorImpl& t, Tensor g) {
    if (auto sum = sums_.find(&t); sum != sums_.end()) return accumulate(sum->second, std::move(g));
    finish(t, std::move(g));
  }
  void finish(TensorImpl& t, Tensor g) {
    AutoMeta& m = auto_meta(t);
    for (const Hook& hook : m.hooks) g = run_hook(hook, g);
    put(m, std::move(g));
    for (const Hook& hook : m.hooks)
      if (auto* after = hook.target<AfterAccumulation>()) after->run(borrow(&t));
  }
  void put(AutoMeta& m, Tensor g) {
    if (!m.grad.defined()) {
      TensorImpl& i = *g.impl();
      bool own = i.refs.load() == 1 && i.storage->refs.load() == 1 && i.contiguous();
      if (!own && !create_) {
        CategoryScope scope(Category::gradient);
        g = g.clone();
      } else if (own && !create_) {
        set_category(g, Category::gradient);
      }
      m.grad = std::move(g);
      return;
    }
    if (create_)
      m.grad = add(m.grad, g);
    else
      m.grad.add_(g);
  }
  // A function's own backward: it gets zeros for outputs that nothing depends on (unless it wants to know), and owes a gradient
  // to each input.
  static void run_function(Node& n, Tensor* gradients, Tensor* results) {
    for (int j = 0; j < n.nout && !n.extra->backward.target<BackwardOfSome>(); ++j)
      if (const Meta& m = n.meta[n.nin + j]; !gradients[j].defined() && m.dtype)
        gradients[j] = zeros(m.shape(), m.dtype, m.device);
    const struct Running {
      Node* before;
      explicit Running(Node& n) : before(std::exchange(t_function, &n)) {}
      ~Running() { t_function = before; }
    } running(n);
    std::vector<Tensor> given = n.extra->backward({gradients, n.nout});
    DY_CHECK(given.size() == n.nin, "{}: its backward returns the wrong number of gradients: {} for {} inputs", node_name(n),
             given.size(), n.nin);
    for (int i = 0; i < n.nin; ++i) {
      if (!n.edges[i].used() || !given[size_t(i)].defined()) continue;
      DY_CHECK(given[size_t(i)].sizes() == n.meta[i].shape(),
               "{}: its backward returns a gradient of the wrong shape: {} for input {} of shape {}", node_name(n),
               describe(given[size_t(i)]), i, shape_text(n.meta[i].shape()));
      results[i] = given[size_t(i)];
    }
  }
  // Whether there is something to free: what has kept nothing can run again.
  static bool holds_values(const Node& n) {
    bool holds = n.extra && n.extra->backward;
    for (int i = 0; i < n.nin + n.nout; ++i) holds |= n.saved[i].tensor.defined();
    return holds || (n.extra && !n.extra->packed.empty());
  }
  static void run_hooks(Node& n, const std::vector<NodeHook>& hooks, std::span<Tensor> replaced, std::span<const Tensor> inputs,
                        std::span<const Tensor> outputs) {
    for (const NodeHook& hook : hooks) {
      const std::vector<Tensor> given = hook(inputs, outputs);
      DY_CHECK(given.empty() || given.size() == replaced.size(), "{}: a hook returns the wrong number of gradients: {} for {}",
               node_name(n), given.size(), replaced.size());
      std::copy(given.begin(), given.end(), replaced.begin());
    }
  }
  void step(Node& n, Tensor* gradients) {
    const OpDef& op = op_def(n.id);
    DY_CHECK(!n.released,
             "backward: the graph has been used up: {} was already differentiated and its saved tensors are gone; pass "
             "retain_graph=true to the first backward",
             node_name(n));
    if (n.extra)
      for (auto& [output, hook] : n.extra->hooks)
        if (gradients[output].defined()) gradients[output] = run_hook(hook, gradients[output]);
    for (const Wanted& w : wanted)
      if (w.edge.node == &n) *w.result = gradients[w.edge.output];
    if (n.extra) run_hooks(n, n.extra->before, {gradients, n.nout}, {}, {gradients, n.nout});
    constexpr int kFew = 8;
    Tensor few[kFew];
    std::unique_ptr<Tensor[]> many;
    Tensor* results = few;
    if (n.nin > kFew) many = std::make_unique<Tensor[]>(n.nin), results = many.get();
    const struct Module {
      uint32_t before = t_module;
      ~Module() { t_module = before; }
    } module;
    t_module = n.module;
    {
      const Unpacked saved(n);
      Grad grad{n, gradients, results};
      if (n.extra && n.extra->backward)
        run_function(n, gradients, results);
      else
        op.kind == OpKind::pointwise ? pointwise_backward(op, grad) : op.backward(grad);
    }
    if (t_modes & kAnomaly)
      for (int i = 0; i < n.nin; ++i)
        if (results[i].defined()) raise_anomaly(node_name(n), results[i], i);
    if (n.extra) {
      for (int i = 0; i < n.nin && !n.extra->after.empty(); ++i)
        if (!n.edges[i].used()) results[i] = Tensor();
      run_hooks(n, n.extra->after, {results, n.nin}, {results, n.nin}, {gradients, n.nout});
    }
    if (!keep_ && holds_values(n)) {
      n.released = true;
      release_saved(n);
      if (n.extra) n.extra->backward = nullptr;  // and with it what it has saved
    }
    for (int j = 0; j < n.nout; ++j) gradients[j] = Tensor();
    for (int i = 0; i < n.nin; ++i)
      if (n.edges[i].used() && results[i].defined()) {
        Tensor g = fit_gradient(std::move(results[i]), n.meta[i]);
        deliver(n.edges[i], std::move(g));
      }
  }
};

}  // namespace

Tensor fit_gradient(Tensor g, const Meta& meta) {
  if (!(g.sizes() == meta.shape())) {
    int64_t extra = g.dim() - meta.ndim;
    std::vector<int64_t> dims;
    for (int64_t d = 0; d < g.dim(); ++d)
      if (d < extra || (meta.sizes[d - extra] == 1 && g.size(d) != 1)) dims.push_back(d);
    if (!dims.empty()) g = sum(g, dims, true);
    g = g.reshape(meta.shape());
  }
  return g.dtype() == meta.dtype ? g : g.to(meta.dtype);
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph) const {
  dyadic::backward({this, 1}, {&gradient, 1}, retain_graph, create_graph);
}
void backward(TensorList outputs, TensorList grad_outputs, bool retain_graph, bool create_graph, TensorList inputs) {
  GradMode guard(create_graph);
  Run run(retain_graph || create_graph, create_graph);
  const std::vector<Tensor> results = run.through("backward", outputs, inputs, grad_outputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (results[i].defined()) run.into(inputs[i], results[i]);
}

std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList grad_outputs, bool retain_graph, bool create_graph,
                         bool allow_unused) {
  DY_CHECK(grad_outputs.empty() || grad_outputs.size() == outputs.size(),
           "grad: one gradient per output is needed: {} outputs, {} gradients", outputs.size(), grad_outputs.size());
  GradMode guard(create_graph);
  Run run(retain_graph || create_graph, create_graph);
  const std::vector<Tensor> results = run.through("grad", outputs, inputs, grad_outputs);
  for (size_t i = 0; i < results.size(); ++i)
    DY_CHECK(allow_unused || results[i].defined(),
             "grad: an input was not used: the outputs do not depend on input {} ({}); pass allow_unused=true", i,
             describe(inputs[i]));
  return results;
}

Tensor KeepGradient::operator()(const Tensor& g) const {
  *slot = slot->defined() ? add(*slot, g) : g.clone();
  return Tensor();
}

Tensor as_own_output(int j, const Tensor& output) {
  if (!t_function || !GradMode::enabled()) return output;
  Tensor t = output.detach();
  t_function->refs.fetch_add(1, std::memory_order_relaxed);
  t.impl()->node = t_function;
  t.impl()->output = uint16_t(j);
  t.impl()->flags |= kRequiresGrad;
  return t;
}

Tensor adopt_history(const Tensor& written, const Tensor& result) {
  TensorImpl &to = *written.impl(), &from = *result.impl();
  if (!from.node) return written;
  from.node->refs.fetch_add(1, std::memory_order_relaxed);
  if (Node* before = std::exchange(to.node, from.node)) release(before);
  to.output = from.output;
  to.flags |= kRequiresGrad;
  return written;
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
  auto_meta(*p_).grad = g;
}
Tensor& Tensor::requires_grad_(bool on) {
  if (!is_leaf()) {  // it does already
    DY_CHECK(on, "requires_grad_: not a leaf: {} was made by {}; detach() it first", describe(*this), grad_fn());
    return *this;
  }
  DY_CHECK(!on || !dtype().is_scaled(),
           "requires_grad_: {} holds codes, not weights that can move; train with QAT on float weights, or add LoRA factors",
           describe(*this));
  DY_CHECK(!on || dtype().is_floating_point() || dtype().is_complex(),
           "requires_grad_: only floating-point and complex tensors have gradients: this is {}", describe(*this));
  p_->flags = uint8_t(on ? (p_->flags | kRequiresGrad) & ~kUncounted : p_->flags & ~kRequiresGrad);
  if (on) drop_base(*p_);  // a leaf of its own, whatever becomes of the base
  return *this;
}
void detail::register_hook(const Tensor& t, std::shared_ptr<void> hook, HookCall call) {
  DY_CHECK(t.requires_grad(), "register_hook: {} does not require grad", describe(t));
  Hook own = [hook = std::move(hook), call](const Tensor& g) { return call(hook.get(), g); };
  if (t.is_leaf())
    g_leaf_hooks = true, auto_meta(*t.impl()).hooks.push_back(std::move(own));
  else
    node_extra(*t.impl()->node).hooks.emplace_back(t.impl()->output, std::move(own));
}

void detail::register_late_hook(const Tensor& t, std::shared_ptr<void> hook, LateHookCall call) {
  DY_CHECK(t.requires_grad() && t.is_leaf(),
           "register_post_accumulate_grad_hook: no leaf that requires grad, so nothing accumulates: self is {}", describe(t));
  g_leaf_hooks = true;
  auto_meta(*t.impl()).hooks.push_back(
      AfterAccumulation{[hook = std::move(hook), call](const Tensor& leaf) { call(hook.get(), leaf); }});
}

}  // namespace dyadic::inline v1
