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

static int64_t longest_of(const std::vector<Range>& slices) {
  int64_t longest = 0;
  for (const Range& s : slices) longest = std::max(longest, s.end - s.begin);
  return longest;
}
// Of slices, what travels at once: where they are even, all.
static int64_t at_once(int64_t n, int ranks) { return std::max<int64_t>((n + ranks - 1) / ranks, 1); }

void ShardSum::leave(std::vector<Range> slices) {
  if (group_.size() == 1) return;
  slices_ = slices.empty() ? even_ranges(n_, group_.size()) : std::move(slices);
  longest_ = longest_of(slices_);
  leave_from(0);
}

void ShardSum::leave_from(int64_t at) {
  NoGrad guard;
  const int ranks = group_.size();
  const Node& tree = fold_.tree();
  const std::vector<std::pair<Node, Tensor>>& made = fold_.made();
  at_ = at;
  // Which nodes every rank has. In each round every rank sends one of them, as long as it has any.
  std::vector<std::vector<Node>> nodes(slices_.size());
  size_t rounds = 0;
  for (int r = 0; r < ranks; ++r) {
    nodes_of(tree, even_begin(tree.end, r, ranks), even_begin(tree.end, r + 1, ranks), nodes[size_t(r)]);
    rounds = std::max(rounds, nodes[size_t(r)].size());
  }
  const int64_t each = at_once(n_, ranks);
  const Range own = piece(slices_[size_t(group_.rank())], at, each);
  const int64_t n = own.end - own.begin;
  for (size_t k = 0; k < rounds; ++k) {
    const Tensor rows = empty({ranks, n}, dtype_, device_);
    std::vector<Range> sent(nodes.size()), received(nodes.size());
    for (int r = 0; r < ranks; ++r) {
      if (k < made.size()) sent[size_t(r)] = piece(slices_[size_t(r)], at, each);
      if (k >= nodes[size_t(r)].size()) continue;
      received[size_t(r)] = {r * n, (r + 1) * n};
      came_.emplace_back(nodes[size_t(r)][k], rows.select(0, r));
    }
    moving_.emplace_back(group_, fmt::format("sum of {} {} over {} shards", n_, dtype_.name(), tree.end),
                         k < made.size() ? made[k].second : Tensor(), sent, rows, received, std::min(longest_ - at, each));
  }
}

void ShardSum::reduce() {
  if (group_.size() == 1) return;
  NoGrad guard;
  const int64_t each = at_once(n_, group_.size());
  for (;;) {
    for (Moving& m : moving_) m.wait();
    moving_.clear();
    const Range own = piece(slices_[size_t(group_.rank())], at_, each);
    // The tree from the nodes up.
    const auto total = [&](const auto& self, const Node& node) -> Tensor {
      const auto found = std::find_if(came_.begin(), came_.end(), [&](const auto& p) { return p.first == node; });
      if (found != came_.end()) return found->second;
      const int64_t middle = split(node);
      const Tensor left = self(self, {node.begin, middle});
      return left + self(self, {middle, node.end});
    };
    const int64_t n = own.end - own.begin;
    if (n) fold_.made()[0].second.narrow(0, own.begin, n).copy_(total(total, fold_.tree()));
    came_.clear();
    if (at_ + each >= longest_) return;
    leave_from(at_ + each);
  }
}

void ShardSum::give_back() {
  const int ranks = group_.size(), me = group_.rank();
  if (ranks == 1) return;
  NoGrad guard;
  const Tensor& all = fold_.made()[0].second;
  const Range own = slices_[size_t(me)];
  const Tensor mine = all.narrow(0, own.begin, own.end - own.begin).clone();  // engines may not read where they write
  std::vector<Range> sent, received;
  for (int r = 0; r < ranks; ++r) {
    sent.push_back({0, r == me ? 0 : own.end - own.begin});
    received.push_back(r == me ? Range{} : slices_[size_t(r)]);
  }
  moving_.emplace_back(group_, fmt::format("gathering of a sum of {} {}", n_, dtype_.name()), mine, sent, all, received,
                       longest_);
}

Tensor ShardSum::sum() {
  for (Moving& m : moving_) m.wait();
  moving_.clear();
  return fold_.made()[0].second;
}

RoundSum::RoundSum(Group& group, int64_t shards, std::vector<Range> slices, DType dtype, Device device)
    : group_(group), slices_(std::move(slices)), fold_(shards, 0), dtype_(dtype), device_(device) {}

void RoundSum::begin_round() {
  first_ = rounds_++ * group_.size();
  given_ = std::min<int64_t>(group_.size(), fold_.tree().end - first_);
  nodes_of(fold_.tree(), first_, first_ + given_, nodes_);
  const Range mine = slices_[size_t(group_.rank())];
  for (size_t k = 0; k < nodes_.size(); ++k) sums_.push_back(empty({mine.end - mine.begin}, dtype_, device_));
}

void RoundSum::sum_rows(const Tensor& rows, int64_t at) {
  for (size_t k = 0; k < sums_.size() && rows.size(1); ++k)
    sums_[k]
        .narrow(0, at, rows.size(1))
        .copy_(in_tree<Tensor>(
            nodes_[k].begin, nodes_[k].end, [&](int64_t leaf) { return rows.select(0, leaf - first_); },
            [](const Tensor& a, const Tensor& b) { return a.add_(b); }));
}

void RoundSum::leave(const Tensor& leaf) {
  NoGrad guard;
  begin_round();
  leaf_ = leaf;
  longest_ = longest_of(slices_);
  leave_from(0);
}

void RoundSum::leave_from(int64_t at) {
  at_ = at;
  const int64_t all = slices_.back().end, each = at_once(all, group_.size());
  const Range own = piece(slices_[size_t(group_.rank())], at, each);
  const int64_t n = own.end - own.begin;
  rows_ = empty({given_, n}, dtype_, device_);
  std::vector<Range> sent(slices_.size()), received(slices_.size());
  for (size_t r = 0; r < slices_.size() && leaf_.defined(); ++r) sent[r] = piece(slices_[r], at, each);
  for (int64_t r = 0; r < given_; ++r) received[size_t(r)] = {r * n, (r + 1) * n};
  moving_ = Moving(group_, fmt::format("sum of {} {}, shards {} to {}", all, dtype_.name(), first_, first_ + given_), leaf_,
                   sent, rows_, received, std::min(longest_ - at, each));
}

void RoundSum::leave_coded(const Wire& wire, const Tensor& bytes) {
  NoGrad guard;
  begin_round();
  wire_ = &wire;
  leaf_ = rows_ = bytes;
  if (group_.size() == 1) return;
  const auto me = size_t(group_.rank());
  const int64_t coded = wire.bytes()[me].end - wire.bytes()[me].begin;
  std::vector<Range> sent(slices_.size()), received(slices_.size());
  if (bytes.defined()) sent = wire.bytes();
  for (int64_t r = 0; r < given_; ++r) received[size_t(r)] = {r * coded, (r + 1) * coded};
  rows_ = empty({given_ * coded}, u8, device_);
  moving_ =
      Moving(group_, fmt::format("coded sum of {} bytes, shards {} to {}", wire.bytes().back().end, first_, first_ + given_),
             leaf_, sent, rows_, received, longest_of(wire.bytes()));
}

void RoundSum::end_round() {
  if (nodes_.empty()) return;
  NoGrad guard;
  const auto me = size_t(group_.rank());
  if (wire_) {
    moving_.wait();
    const int64_t n = slices_[me].end - slices_[me].begin, coded = wire_->bytes()[me].end - wire_->bytes()[me].begin;
    const Tensor rows = empty({given_, n}, dtype_, device_);
    for (int64_t r = 0; r < given_; ++r) wire_->decode(int(me), rows_.narrow(0, r * coded, coded), rows.select(0, r));
    sum_rows(rows, 0);
  } else {
    const int64_t each = at_once(slices_.back().end, group_.size());
    for (;;) {
      moving_.wait();
      sum_rows(rows_, at_);
      if (at_ + each >= longest_) break;
      leave_from(at_ + each);
    }
  }
  leaf_ = rows_ = Tensor();
  for (size_t k = 0; k < sums_.size(); ++k) fold_.add(nodes_[k], std::move(sums_[k]));
  nodes_.clear(), sums_.clear();
}

Tensor RoundSum::take() {
  end_round();
  return std::move(fold_.made()[0].second);
}

}  // namespace dyadic::inline v1::distributed
