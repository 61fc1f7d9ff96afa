#include "distributed/shards.h"

#include <algorithm>

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
    : group_(group),
      n_(n),
      first_(even_begin(shards, group.rank(), group.size())),
      last_(even_begin(shards, group.rank() + 1, group.size())),
      fold_(shards, first_),
      dtype_(dtype),
      device_(device) {
  DY_CHECK_AS(ValueError, shards >= group.size(),
              "distributed: {} ranks share {} shards; start at most as many, or cut batches into more", group.size(), shards);
}

void Fold::add(Tensor leaf) {
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
  const std::vector<Range> slices = even_ranges(n_, group_.size());
  const Tensor result = scattered(slices);
  if (group_.size() > 1)
    gather(Call(group_, "gathering of a sum", device_), bytes_of(result), slices, slices[0].end, dtype_.itemsize());
  return result;
}

Tensor ShardSum::scattered(const std::vector<Range>& slices) {
  NoGrad guard;
  const int ranks = group_.size(), me = group_.rank();
  const Node& tree = fold_.tree();
  const std::vector<std::pair<Node, Tensor>>& made = fold_.made();
  if (ranks == 1) return made[0].second;
  const Call call(group_, fmt::format("sum of {} {} over {} shards", n_, dtype_.name(), tree.end), device_);
  const Range mine = slices[size_t(me)];
  const int64_t n = mine.end - mine.begin;
  int64_t longest = 0;
  for (const Range& s : slices) longest = std::max(longest, s.end - s.begin);
  // Which nodes every rank has. In each round every rank sends one of them, as long as it has any.
  std::vector<std::vector<Node>> nodes(slices.size());
  size_t rounds = 0;
  for (int r = 0; r < ranks; ++r) {
    nodes_of(tree, even_begin(tree.end, r, ranks), even_begin(tree.end, r + 1, ranks), nodes[size_t(r)]);
    rounds = std::max(rounds, nodes[size_t(r)].size());
  }
  std::vector<std::pair<Node, Tensor>> parts;  // this rank's slice of every node
  for (size_t k = 0; k < rounds; ++k) {
    const Tensor rows = empty({ranks, n}, dtype_, device_);
    std::vector<Range> sent(nodes.size()), received(nodes.size());
    for (int r = 0; r < ranks; ++r) {
      if (k < made.size()) sent[size_t(r)] = slices[size_t(r)];
      if (k >= nodes[size_t(r)].size()) continue;
      received[size_t(r)] = {r * n, (r + 1) * n};
      parts.emplace_back(nodes[size_t(r)][k], rows.select(0, r));
    }
    exchange(call, k < made.size() ? bytes_of(made[k].second) : nullptr, sent, bytes_of(rows), received, longest,
             dtype_.itemsize());
  }
  const Tensor result = made[0].second;
  if (n) {
    // The tree from the nodes up.
    const auto total = [&](const auto& self, const Node& node) -> Tensor {
      const auto at = std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p.first == node; });
      if (at != parts.end()) return at->second;
      const int64_t middle = split(node);
      const Tensor left = self(self, {node.begin, middle});
      return left + self(self, {middle, node.end});
    };
    result.narrow(0, mine.begin, n).copy_(total(total, tree));
  }
  return result;
}

RoundSum::RoundSum(Group& group, int64_t shards, std::vector<Range> slices, DType dtype, Device device)
    : group_(group), slices_(std::move(slices)), fold_(shards, 0), dtype_(dtype), device_(device) {}

void RoundSum::add(const Tensor& leaf) {
  NoGrad guard;
  const int64_t first = round_++ * group_.size(), given = std::min<int64_t>(group_.size(), fold_.tree().end - first);
  const Range mine = slices_[size_t(group_.rank())];
  const int64_t n = mine.end - mine.begin;
  const Tensor rows = empty({given, n}, dtype_, device_);
  std::vector<Range> sent(slices_.size()), received(slices_.size());
  if (leaf.defined()) sent = slices_;
  for (int64_t r = 0; r < given; ++r) received[size_t(r)] = {r * n, (r + 1) * n};
  int64_t longest = 0;
  for (const Range& s : slices_) longest = std::max(longest, s.end - s.begin);
  const std::string what =
      fmt::format("sum of {} {}, shards {} to {}", slices_.back().end, dtype_.name(), first, first + given);
  exchange(Call(group_, what, device_), leaf.defined() ? bytes_of(leaf) : nullptr, sent, bytes_of(rows), received, longest,
           dtype_.itemsize());
  for (int64_t r = 0; r < given; ++r) fold_.add(rows.select(0, r));
  for (auto& [node, part] : fold_.made())  // what stays has memory of its own
    if (node.begin >= first && given > 1) part = part.clone();
}

Tensor RoundSum::take() { return std::move(fold_.made()[0].second); }

}  // namespace dyadic::inline v1::distributed
