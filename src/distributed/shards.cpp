#include "distributed/shards.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::distributed {
namespace {

// Whether the tree has a node of these leaves.
bool is_node(const Node& tree, const Node& n) {
  if (tree == n) return true;
  if (tree.end - tree.begin == 1) return false;
  const int64_t middle = split(tree);
  return n.end <= middle ? is_node({tree.begin, middle}, n) : n.begin >= middle && is_node({middle, tree.end}, n);
}

}  // namespace

ShardSum::ShardSum(Group& group, int64_t shards, int64_t n, DType dtype, Device device)
    : group_(group), tree_{0, shards}, n_(n), dtype_(dtype), device_(device) {
  const int ranks = group.size();
  DY_CHECK_AS(ValueError, shards >= ranks,
              "distributed: {} ranks share {} shards; start at most as many, or cut batches into more", ranks, shards);
  first_ = next_ = even_begin(shards, group.rank(), ranks);
  last_ = even_begin(shards, group.rank() + 1, ranks);
}

void ShardSum::add(Tensor leaf) {
  NoGrad guard;
  Node node{next_, next_ + 1};
  ++next_;
  while (!made_.empty() && is_node(tree_, {made_.back().first.begin, node.end})) {
    auto [left, sum] = std::move(made_.back());
    made_.pop_back();
    sum.add_(leaf);
    leaf = std::move(sum);
    node.begin = left.begin;
  }
  made_.emplace_back(node, std::move(leaf));
}

Tensor ShardSum::sum() {
  std::vector<Range> slices;
  for (int r = 0; r < group_.size(); ++r)
    slices.push_back({even_begin(n_, r, group_.size()), even_begin(n_, r + 1, group_.size())});
  const Tensor result = scattered(slices);
  if (group_.size() > 1 && !device_.is_meta())
    gather(Call(group_, "gathering of a sum"), static_cast<char*>(result.data_ptr()), slices, slices[0].end, dtype_.itemsize());
  return result;
}

Tensor ShardSum::scattered(const std::vector<Range>& slices) {
  NoGrad guard;
  const int ranks = group_.size(), me = group_.rank();
  if (ranks == 1) return made_[0].second;
  const bool real = !device_.is_meta();  // else all is as it would be, but for what is said
  std::optional<Call> call;
  if (real) call.emplace(group_, fmt::format("sum of {} {} over {} shards", n_, dtype_.name(), tree_.end));
  const Range mine = slices[size_t(me)];
  const int64_t n = mine.end - mine.begin;
  int64_t longest = 0;
  for (const Range& s : slices) longest = std::max(longest, s.end - s.begin);
  // Which nodes every rank has. In each round every rank sends one of them, as long as it has any.
  std::vector<std::vector<Node>> nodes(slices.size());
  size_t rounds = 0;
  for (int r = 0; r < ranks; ++r) {
    nodes_of(tree_, even_begin(tree_.end, r, ranks), even_begin(tree_.end, r + 1, ranks), nodes[size_t(r)]);
    rounds = std::max(rounds, nodes[size_t(r)].size());
  }
  std::vector<std::pair<Node, Tensor>> parts;  // this rank's slice of every node
  for (size_t k = 0; k < rounds; ++k) {
    const Tensor rows = empty({ranks, n}, dtype_, device_);
    std::vector<Range> sent(nodes.size()), received(nodes.size());
    for (int r = 0; r < ranks; ++r) {
      if (k < made_.size()) sent[size_t(r)] = slices[size_t(r)];
      if (k >= nodes[size_t(r)].size()) continue;
      received[size_t(r)] = {r * n, (r + 1) * n};
      parts.emplace_back(nodes[size_t(r)][k], rows.select(0, r));
    }
    if (!real) continue;
    const char* from = k < made_.size() ? static_cast<const char*>(made_[k].second.data_ptr()) : nullptr;
    exchange(*call, from, sent, static_cast<char*>(rows.data_ptr()), received, longest, dtype_.itemsize());
  }
  const Tensor result = made_[0].second;
  if (n) {
    // The tree from the nodes up.
    const auto total = [&](const auto& self, const Node& node) -> Tensor {
      const auto at = std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p.first == node; });
      if (at != parts.end()) return at->second;
      const int64_t middle = split(node);
      const Tensor left = self(self, {node.begin, middle});
      return left + self(self, {middle, node.end});
    };
    result.narrow(0, mine.begin, n).copy_(total(total, tree_));
  }
  return result;
}

}  // namespace dyadic::inline v1::distributed
