#include "distributed/shards.h"

#include <algorithm>

#include "base/check.h"
#include "distributed/wire.h"
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

void Fold::add(Node node, Tensor leaf) {
  NoGrad guard;
  next_ = node.end;
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
  int64_t longest = 0;
  for (const Range& s : slices) longest = std::max(longest, s.end - s.begin);
  // Which nodes every rank has. In each round every rank sends one of them, as long as it has any.
  std::vector<std::vector<Node>> nodes(slices.size());
  size_t rounds = 0;
  for (int r = 0; r < ranks; ++r) {
    nodes_of(tree, even_begin(tree.end, r, ranks), even_begin(tree.end, r + 1, ranks), nodes[size_t(r)]);
    rounds = std::max(rounds, nodes[size_t(r)].size());
  }
  // Slice by slice, of which pieces come that are together as large as the whole: where slices are even, one of each.
  const Tensor result = made[0].second;
  const int64_t each = std::max<int64_t>((n_ + ranks - 1) / ranks, 1);
  for (int64_t at = 0; at < longest; at += each) {
    const Range own = piece(mine, at, each);
    const int64_t n = own.end - own.begin;
    std::vector<std::pair<Node, Tensor>> parts;  // this rank's piece of every node
    for (size_t k = 0; k < rounds; ++k) {
      const Tensor rows = empty({ranks, n}, dtype_, device_);
      std::vector<Range> sent(nodes.size()), received(nodes.size());
      for (int r = 0; r < ranks; ++r) {
        if (k < made.size()) sent[size_t(r)] = piece(slices[size_t(r)], at, each);
        if (k >= nodes[size_t(r)].size()) continue;
        received[size_t(r)] = {r * n, (r + 1) * n};
        parts.emplace_back(nodes[size_t(r)][k], rows.select(0, r));
      }
      exchange(call, k < made.size() ? bytes_of(made[k].second) : nullptr, sent, bytes_of(rows), received,
               std::min(longest - at, each), dtype_.itemsize());
    }
    if (!n) continue;
    // The tree from the nodes up.
    const auto total = [&](const auto& self, const Node& node) -> Tensor {
      const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& p) { return p.first == node; });
      if (found != parts.end()) return found->second;
      const int64_t middle = split(node);
      const Tensor left = self(self, {node.begin, middle});
      return left + self(self, {middle, node.end});
    };
    result.narrow(0, own.begin, n).copy_(total(total, tree));
  }
  return result;
}

RoundSum::RoundSum(Group& group, int64_t shards, std::vector<Range> slices, DType dtype, Device device)
    : group_(group), slices_(std::move(slices)), fold_(shards, 0), dtype_(dtype), device_(device) {}

RoundSum::Round RoundSum::next() {
  Round r{round_++ * group_.size(), 0, {}};
  r.given = std::min<int64_t>(group_.size(), fold_.tree().end - r.first);
  nodes_of(fold_.tree(), r.first, r.first + r.given, r.nodes);
  return r;
}

void RoundSum::sum_rows(const Round& round, const Tensor& rows, const std::vector<Tensor>& sums, int64_t at) {
  for (size_t k = 0; k < sums.size() && rows.size(1); ++k)
    sums[k]
        .narrow(0, at, rows.size(1))
        .copy_(in_tree<Tensor>(
            round.nodes[k].begin, round.nodes[k].end, [&](int64_t leaf) { return rows.select(0, leaf - round.first); },
            [](const Tensor& a, const Tensor& b) { return a.add_(b); }));
}

// Pieces of slices come, as many numbers at once as a shard has: where slices are even, all.
void RoundSum::add(const Tensor& leaf) {
  NoGrad guard;
  const Round round = next();
  const Range mine = slices_[size_t(group_.rank())];
  std::vector<Tensor> sums;
  for (size_t k = 0; k < round.nodes.size(); ++k) sums.push_back(empty({mine.end - mine.begin}, dtype_, device_));
  int64_t longest = 0;
  for (const Range& s : slices_) longest = std::max(longest, s.end - s.begin);
  const int64_t all = slices_.back().end, each = std::max<int64_t>((all + group_.size() - 1) / group_.size(), 1);
  const Call call(group_,
                  fmt::format("sum of {} {}, shards {} to {}", all, dtype_.name(), round.first, round.first + round.given),
                  device_);
  for (int64_t at = 0; at < longest; at += each) {
    const Range own = piece(mine, at, each);
    const int64_t n = own.end - own.begin;
    const Tensor rows = empty({round.given, n}, dtype_, device_);
    std::vector<Range> sent(slices_.size()), received(slices_.size());
    for (size_t r = 0; r < slices_.size() && leaf.defined(); ++r) sent[r] = piece(slices_[r], at, each);
    for (int64_t r = 0; r < round.given; ++r) received[size_t(r)] = {r * n, (r + 1) * n};
    exchange(call, leaf.defined() ? bytes_of(leaf) : nullptr, sent, bytes_of(rows), received, std::min(longest - at, each),
             dtype_.itemsize());
    sum_rows(round, rows, sums, at);
  }
  for (size_t k = 0; k < sums.size(); ++k) fold_.add(round.nodes[k], std::move(sums[k]));
}

void RoundSum::add_coded(const Wire& wire, const Tensor& bytes) {
  NoGrad guard;
  const Round round = next();
  const auto me = size_t(group_.rank());
  const int64_t n = slices_[me].end - slices_[me].begin, coded = wire.bytes()[me].end - wire.bytes()[me].begin;
  const Tensor rows = empty({round.given, n}, dtype_, device_);
  std::vector<Range> sent(slices_.size()), received(slices_.size());
  if (bytes.defined()) sent = wire.bytes();
  for (int64_t r = 0; r < round.given; ++r) received[size_t(r)] = {r * coded, (r + 1) * coded};
  Tensor all = bytes;
  if (group_.size() > 1) {
    all = empty({round.given * coded}, u8, device_);
    int64_t longest = 0;
    for (const Range& s : wire.bytes()) longest = std::max(longest, s.end - s.begin);
    const std::string what =
        fmt::format("coded sum of {} bytes, shards {} to {}", wire.bytes().back().end, round.first, round.first + round.given);
    exchange(Call(group_, what, device_), bytes.defined() ? bytes_of(bytes) : nullptr, sent, bytes_of(all), received, longest,
             1);
  }
  for (int64_t r = 0; r < round.given; ++r) wire.decode(int(me), all.narrow(0, r * coded, coded), rows.select(0, r));
  std::vector<Tensor> sums;
  for (size_t k = 0; k < round.nodes.size(); ++k) sums.push_back(empty({n}, dtype_, device_));
  sum_rows(round, rows, sums, 0);
  for (size_t k = 0; k < sums.size(); ++k) fold_.add(round.nodes[k], std::move(sums[k]));
}

Tensor RoundSum::take() { return std::move(fold_.made()[0].second); }

}  // namespace dyadic::inline v1::distributed
