// Forward runs recorded, but its nodes save nothing; they tell which leaves f has used. One node takes their place. It lives in
// this layer because it enters autocast again.
#include "dyadic/checkpoint.h"

#include <algorithm>
#include <memory>
#include <unordered_set>

#include "corridor/tape.h"
#include "dyadic/amp.h"
#include "dyadic/autograd.h"
#include "dyadic/generator.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1 {
namespace {

bool comes_from(const Edge& e, const Tensor& t) {
  const TensorImpl& i = *t.impl();
  return i.node ? e.node == i.node && e.output == i.output : e.leaf == &i;
}

// The leaves beside the inputs that the graph of `outputs` ends at.
std::vector<Tensor> used_leaves(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, uint64_t start) {
  std::vector<Tensor> leaves;
  std::unordered_set<const void*> seen;
  std::vector<Node*> todo;
  auto visit = [&](Node* n) {
    if (n && n->seq >= start && seen.insert(n).second) todo.push_back(n);
  };
  for (const Tensor& t : outputs)
    if (t.defined()) visit(t.impl()->node);
  while (!todo.empty()) {
    const Node& n = *todo.back();
    todo.pop_back();
    for (int i = 0; i < n.nin; ++i) {
      const Edge& e = n.edges[i];
      if (!e.used() || std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& t) { return comes_from(e, t); })) continue;
      DY_CHECK(e.leaf || e.node->seq >= start,
               "checkpoint: f uses a tensor that is computed outside and requires grad (by {}); pass it as an input",
               node_name(*e.node));
      if (e.leaf && seen.insert(e.leaf).second) leaves.push_back(borrow(e.leaf));
      visit(e.node);
    }
  }
  return leaves;
}

struct Recomputation {
  std::shared_ptr<void> f;
  detail::RecomputedCall call;
  std::vector<Tensor> inputs, leaves;
  std::vector<uint32_t> versions;
  GeneratorState random;
  DType autocast;  // undefined: off
  DelayedScaling* scaling = nullptr;
  uint32_t module;

  std::vector<Tensor> run(const std::vector<Tensor>& x) const {
    Generator again(random);
    const GeneratorScope scope(again);
    if (!autocast) return call(f.get(), x);
    const Autocast on(Autocast::SameStep{}, autocast, scaling);
    return call(f.get(), x);
  }

  std::vector<Tensor> backward(std::span<const Tensor> gradients) const {
    const bool create = GradMode::enabled();
    std::vector<Tensor> x, wanted, result(inputs.size() + leaves.size());
    std::vector<size_t> place;
    for (size_t i = 0; i < inputs.size(); ++i) {
      DY_CHECK(inputs[i].version() == versions[i],
               "checkpoint: input {} was written in place after the forward; clone it before writing", i);
      x.push_back(create && inputs[i].requires_grad() ? view(inputs[i], inputs[i].sizes()) : inputs[i].detach());
      if (!inputs[i].requires_grad()) continue;
      if (!create) x.back().requires_grad_();
      wanted.push_back(x.back());
      place.push_back(i);
    }
    for (size_t k = 0; k < leaves.size(); ++k) {
      wanted.push_back(leaves[k]);
      place.push_back(inputs.size() + k);
    }
    const GradMode on(true);
    std::vector<Tensor> roots, seeds;
    const std::vector<Tensor> outputs = run(x);
    DY_CHECK(outputs.size() == gradients.size(), "checkpoint: f returns {} tensors in backward, {} in forward", outputs.size(),
             gradients.size());
    for (size_t j = 0; j < outputs.size(); ++j)
      if (outputs[j].defined() && outputs[j].requires_grad() && gradients[j].defined()) {
        roots.push_back(outputs[j]);
        seeds.push_back(gradients[j]);
      }
    if (roots.empty() || wanted.empty()) return result;
    std::vector<Tensor> found = grad(roots, wanted, seeds, create, create, true);
    for (size_t k = 0; k < found.size(); ++k) result[place[k]] = std::move(found[k]);
    return result;
  }
};

}  // namespace

std::vector<Tensor> detail::checkpoint(std::shared_ptr<void> f, RecomputedCall call, std::vector<Tensor> inputs) {
  if (!GradMode::enabled()) return call(f.get(), inputs);
  auto again = std::make_shared<Recomputation>();
  again->f = std::move(f);
  again->call = call;
  again->inputs = inputs;
  again->random = generator_state();
  again->autocast = Autocast::enabled() ? Autocast::dtype() : DType();
  again->scaling = Autocast::scaling();
  for (const Tensor& t : inputs) again->versions.push_back(t.version());
  const uint64_t start = tape_position();
  std::vector<Tensor> outputs;
  {
    const ModeScope forget(kForget, 0);
    outputs = call(again->f.get(), inputs);
  }
  const bool any =
      std::any_of(outputs.begin(), outputs.end(), [](const Tensor& t) { return t.defined() && t.requires_grad(); });
  if (!any) return outputs;
  again->leaves = used_leaves(outputs, inputs, start);
  for (Tensor& t : outputs)
    if (t.defined()) t = t.detach();
  std::vector<Tensor> all = inputs;
  all.insert(all.end(), again->leaves.begin(), again->leaves.end());
  NodeExtra function;
  function.name = "Checkpoint";
  function.backward = [again](std::span<const Tensor> g) { return again->backward(g); };
  record_function(all, outputs, std::move(function), true);
  return outputs;
}

}  // namespace dyadic::inline v1
