// Sums over the shards of a batch, in one tree whatever the number of ranks: each rank adds what the tree has of its own
// shards, then ranks exchange what is left and add that in the tree's order.
#pragma once
#include "distributed/call.h"
#include "distributed/tree.h"
#include "dyadic/distributed.h"

namespace dyadic::inline v1::distributed {

class Wire;

// Leaves of one tree in their order, added as soon as both halves of a node are there.
class Fold {
  Node tree_;
  int64_t next_;
  std::vector<std::pair<Node, Tensor>> made_;  // left to right

 public:
  Fold(int64_t leaves, int64_t first) : tree_{0, leaves}, next_(first) {}
  void add(Tensor leaf) { add({next_, next_ + 1}, std::move(leaf)); }  // keeps it and writes over it
  void add(Node node, Tensor sum);                                     // of leaves that are next
  const Node& tree() const { return tree_; }
  std::vector<std::pair<Node, Tensor>>& made() { return made_; }
  const std::vector<std::pair<Node, Tensor>>& made() const { return made_; }
};

class ShardSum {
 public:
  // Of flat tensors of n elements. ValueError where there are more ranks than shards.
  ShardSum(Group& group, int64_t shards, int64_t n, DType dtype, Device device);
  int64_t first() const { return first_; }  // of this rank's shards
  int64_t last() const { return last_; }
  void add(Tensor leaf) { fold_.add(std::move(leaf)); }  // shard first(), then the next one ...
  Tensor sum();                                          // of all shards, on every rank
  // The same, but of the result only this rank's slice is right; slices are one for each rank, side by side.
  Tensor scattered(const std::vector<Range>& slices);

 private:
  Group& group_;
  int64_t n_, first_, last_;
  Fold fold_;
  DType dtype_;
  Device device_;
};

// The same sum where of every flat tensor each rank is to have a slice alone. Ranks go through the shards together, in rounds:
// rank r's shard of a round is round * ranks + r, as long as there are any, and what it gives is sent to the slices' ranks at
// once. A rank keeps at most as many partial sums of its slice as the tree is deep, one where the ranks are a power of two.
class RoundSum {
 public:
  RoundSum(Group& group, int64_t shards, std::vector<Range> slices, DType dtype, Device device);
  void add(const Tensor& leaf);  // the next round's; undefined where this rank has no shard in it
  void add_coded(const Wire& wire, const Tensor& bytes);
  Tensor take();  // this rank's slice of the sum of all shards

 private:
  struct Round {
    int64_t first, given;     // shards
    std::vector<Node> nodes;  // that they make
  };
  Round next();
  // Rows [given, n] are those of elements `at` of the slice; `sums`: of each node.
  static void sum_rows(const Round& round, const Tensor& rows, const std::vector<Tensor>& sums, int64_t at);
  Group& group_;
  std::vector<Range> slices_;
  int64_t round_ = 0;
  Fold fold_;
  DType dtype_;
  Device device_;
};

}  // namespace dyadic::inline v1::distributed
