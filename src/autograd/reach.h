// What a run of backward is to know of its graph before it starts.
#pragma once
#include <unordered_set>
#include <utility>
#include <vector>

#include "corridor/tape.h"

namespace dyadic::inline v1 {

// All nodes that gradients of `roots` come to, the roots among them, in an order that is the same every time.
std::vector<Node*> reachable(std::vector<Node*> roots);

// Leaves with hooks and, of the nodes that read each, the creation of the first: when that has run, the leaf's gradient is
// whole.
std::vector<std::pair<TensorImpl*, uint64_t>> hooked_leaves(std::span<Node* const> nodes);

// The part of the graph through which gradients come to what is wanted of them: nothing else has to run.
class Reach {
  std::unordered_set<const Node*> runs_, wanted_nodes_;
  std::unordered_set<const TensorImpl*> wanted_leaves_;

 public:
  Reach(std::span<Node* const> nodes, std::span<const Edge> wanted);
  bool runs(const Node& n) const { return runs_.contains(&n); }
  bool leads(const Edge& e) const {
    return e.node ? runs_.contains(e.node) || wanted_nodes_.contains(e.node) : e.leaf && wanted_leaves_.contains(e.leaf);
  }
};

}  // namespace dyadic::inline v1
