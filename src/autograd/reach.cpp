#include "autograd/reach.h"

#include <algorithm>
#include <unordered_map>

namespace dyadic::inline v1 {
namespace {

std::span<const Edge> edges(const Node& n) { return {n.edges, n.nin}; }

}  // namespace

std::vector<Node*> reachable(std::vector<Node*> roots) {
  std::vector<Node*> all, todo;
  std::unordered_set<const Node*> seen;
  auto meet = [&](Node* n) {
    if (seen.insert(n).second) todo.push_back(n);
  };
  for (Node* n : roots) meet(n);
  while (!todo.empty()) {
    all.push_back(todo.back());
    todo.pop_back();
    for (const Edge& e : edges(*all.back()))
      if (e.node) meet(e.node);
  }
  return all;
}

std::vector<std::pair<TensorImpl*, uint64_t>> hooked_leaves(std::span<Node* const> nodes) {
  std::vector<std::pair<TensorImpl*, uint64_t>> first;
  std::unordered_map<TensorImpl*, size_t> found;
  for (const Node* n : nodes)
    for (const Edge& e : edges(*n)) {
      if (!e.leaf || !e.leaf->meta || e.leaf->meta->hooks.empty()) continue;
      const auto [at, fresh] = found.try_emplace(e.leaf, first.size());
      if (fresh) first.emplace_back(e.leaf, n->seq);
      uint64_t& seq = first[at->second].second;
      seq = std::min(seq, n->seq);
    }
  return first;
}

// What a node leads to was made before it.
Reach::Reach(std::span<Node* const> nodes, std::span<const Edge> wanted) {
  for (const Edge& e : wanted) e.node ? void(wanted_nodes_.insert(e.node)) : void(wanted_leaves_.insert(e.leaf));
  std::vector<const Node*> by_creation(nodes.begin(), nodes.end());
  std::sort(by_creation.begin(), by_creation.end(), [](const Node* a, const Node* b) { return a->seq < b->seq; });
  for (const Node* n : by_creation)
    for (const Edge& e : edges(*n))
      if (leads(e)) {
        runs_.insert(n);
        break;
      }
}

}  // namespace dyadic::inline v1
