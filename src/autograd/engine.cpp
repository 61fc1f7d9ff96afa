// Nodes run in the reverse order of their creation: whatever consumed an output has a higher number than what made it, so when
// a node comes up all its gradients are there. No counting of dependencies, no recursion, and the order is the same every time.
// Leaves have no number: those with hooks wait for the first node that was made of their readers.
#include "autograd/engine.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

#include "autograd/batches.h"
#include "autograd/callbacks.h"
#include "autograd/leaf.h"
#include "autograd/reach.h"
#include "base/log.h"
#include "corridor/batching.h"
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
  std::optional<Reach> reach_;  // none: all runs
  std::vector<Edge> leading_;   // a node's edges, without those that lead to nothing wanted
  // Leaves with hooks, which are to see the whole gradient: it is there once the first that was made of the nodes that read the
  // leaf has run.
  std::unordered_map<TensorImpl*, Tensor> sums_;
  std::multimap<uint64_t, Tensor, std::greater<>> complete_;  // the leaves by that node

 public:
  // Where gradients of requested inputs go; empty: into the leaves' .grad.
  struct Wanted {
    Edge edge;
    const Storage* storage;
    Tensor* result;
  };
  std::vector<Wanted> wanted;

  Run(bool keep, bool create) : keep_(keep), create_(create) {}

  void deliver(const Edge& e, Tensor g) {
    if (!g.defined()) return;
    if (entries_of(g)) [[unlikely]]
      g = e.node ? outside_gradient(std::move(g), e.node->seq) : outside_gradient(std::move(g), 0, e.leaf->storage);
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
    look_ahead();
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
      wanted.push_back({edge_of(inputs[i]), inputs[i].impl()->storage, &results[i]});
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      deliver(edge_of(outputs[i]),
              as_many(root_gradient(outputs[i], i < grad_outputs.size() ? grad_outputs[i] : Tensor()), outputs[i]));
    const BackwardRuns runs;
    run();
    runs.end();
    return results;
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
    const bool own =
        !create_ && is_sole(s) && !entries_of(sum) && s.contiguous() && sum.dtype() == g.dtype() && sum.sizes() == g.sizes();
    if (own && !s.storage->deferred)
      sum.add_(g);
    else
      sum = add(sum, g);
  }
  void look_ahead() {
    if (wanted.empty() && !leaves_have_hooks()) return;
    std::vector<Node*> nodes;
    for (auto& [seq, p] : pending_) nodes.push_back(p.node.n);
    nodes = reachable(std::move(nodes));
    if (!wanted.empty()) {
      std::vector<Edge> edges;
      for (const Wanted& w : wanted) edges.push_back(w.edge);
      reach_.emplace(nodes, edges);
      return;
    }
    for (auto [leaf, seq] : hooked_leaves(nodes)) {
      sums_.try_emplace(leaf);
      complete_.emplace(seq, borrow(leaf));
    }
  }
  void finish_first() {
    auto first = complete_.extract(complete_.begin());
    TensorImpl& leaf = *first.mapped().impl();
    if (Tensor sum = std::exchange(sums_[&leaf], Tensor()); sum.defined()) leave_gradient(leaf, std::move(sum), create_);
  }
  void leaf(TensorImpl& t, Tensor g) {
    if (auto sum = sums_.find(&t); sum != sums_.end()) return accumulate(sum->second, std::move(g));
    leave_gradient(t, std::move(g), create_);
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
  const Edge* wanted_edges(const Node& n) {
    if (!reach_) return n.edges;
    leading_.assign(n.edges, n.edges + n.nin);
    for (Edge& e : leading_)
      if (!reach_->leads(e)) e = Edge{};
    return leading_.data();
  }
  void step(Node& n, Tensor* gradients) {
    const Inner inner;
    const OpDef& op = op_def(n.id);
    if (n.extra)
      for (auto& [output, hook] : n.extra->hooks)
        if (gradients[output].defined()) gradients[output] = run_hook(hook, gradients[output]);
    for (const Wanted& w : wanted)
      if (w.edge.node == &n) *w.result = outside_gradient(gradients[w.edge.output], 0, w.storage);
    if (reach_ && !reach_->runs(n)) {
      for (int j = 0; j < n.nout; ++j) gradients[j] = Tensor();
      return;
    }
    DY_CHECK(!n.released,
             "backward: the graph has been used up: {} was already differentiated and its saved tensors are gone; pass "
             "retain_graph=true to the first backward",
             node_name(n));
    const Edge* edges = wanted_edges(n);
    if (n.extra) run_hooks(n, n.extra->before, {gradients, n.nout}, {}, {gradients, n.nout});
    constexpr int kFew = 8;
    Tensor few[kFew];
    std::unique_ptr<Tensor[]> many;
    Tensor* results = few;
    if (n.nin > kFew) many = std::make_unique<Tensor[]>(n.nin), results = many.get();
    const struct Module {
      uint32_t before = t_module;
      ~Module() { leave_module(before); }
    } module;
    t_module = n.module;
    {
      const Unpacked saved(n);
      Grad grad{n, edges, gradients, results};
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
        if (!edges[i].used()) results[i] = Tensor();
      run_hooks(n, n.extra->after, {results, n.nin}, {results, n.nin}, {gradients, n.nout});
    }
    if (!keep_ && holds_values(n)) {
      n.released = true;
      release_saved(n);
      if (n.extra && n.extra->let_go) n.extra->let_go();
      if (n.extra) n.extra->backward = nullptr;  // and with it what it has saved
    }
    for (int j = 0; j < n.nout; ++j) gradients[j] = Tensor();
    for (int i = 0; i < n.nin; ++i)
      if (edges[i].used() && results[i].defined()) {
        Tensor g = fit_gradient(std::move(results[i]), n.meta[i]);
        deliver(edges[i], std::move(g));
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
  DY_CHECK(!t_batch_level, "backward: it is called inside of vmap, where .grad is that of no entry; use func.grad or func.vjp");
  for (const Tensor& t : inputs)
    if (!t.is_leaf()) t.retain_grad();
  GradMode guard(create_graph);
  std::vector<Tensor> results =
      Run(retain_graph || create_graph, create_graph).through("backward", outputs, inputs, grad_outputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (results[i].defined() && inputs[i].is_leaf()) leave_gradient(*inputs[i].impl(), std::move(results[i]), create_graph);
}

std::vector<Tensor> grad(TensorList outputs, TensorList inputs, TensorList grad_outputs, bool retain_graph, bool create_graph,
                         bool allow_unused) {
  DY_CHECK(!inputs.empty(), "grad: inputs is empty: name the tensors whose gradients are wanted");
  DY_CHECK(grad_outputs.empty() || grad_outputs.size() == outputs.size(),
           "grad: one gradient per output is needed: {} outputs, {} gradients", outputs.size(), grad_outputs.size());
  GradMode guard(create_graph);
  std::vector<Tensor> results = Run(retain_graph || create_graph, create_graph).through("grad", outputs, inputs, grad_outputs);
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].defined() && inputs[i].is_leaf())
      for (const Hook& hook : auto_meta(*inputs[i].impl()).hooks) results[i] = run_hook(hook, results[i]);
    DY_CHECK(allow_unused || results[i].defined(),
             "grad: an input was not used: the outputs do not depend on input {} ({}); pass allow_unused=true", i,
             describe(inputs[i]));
  }
  return results;
}

}  // namespace dyadic::inline v1
