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

  // When all of its own are there, what this rank has of the others' slices leaves, beside what it computes; slices are one for
  // each rank, side by side, even ones where none are given.
  void leave(std::vector<Range> slices = {});
  void reduce();     // waits for the others'; its own slice is right from then on
  void give_back();  // even slices: they go to everyone, beside what this rank computes
  const std::vector<Range>& slices() const { return slices_; }
  Tensor sum();  // of all shards: right where reduce(), or everywhere where give_back() has said so

 private:
  void leave_from(int64_t at);
  Group& group_;
  int64_t n_, first_, last_;
  Fold fold_;
  DType dtype_;
  Device device_;
  std::vector<Range> slices_;
  int64_t at_ = 0, longest_ = 0;               // of slices, of which pieces travel that are together as large as the whole
  std::vector<std::pair<Node, Tensor>> came_;  // this rank's piece of every node
  std::vector<Moving> moving_;
};

// The same sum where of every flat tensor each rank is to have a slice alone. Ranks go through the shards together, in rounds:
// rank r's shard of a round is round * ranks + r, as long as there are any, and what it gives is sent to the slices' ranks at
// once, beside what ranks compute until the round's end. A rank keeps at most as many partial sums of its slice as the tree is
// deep, one where the ranks are a power of two.
class RoundSum {
 public:
  RoundSum(Group& group, int64_t shards, std::vector<Range> slices, DType dtype, Device device);
  void leave(const Tensor& leaf);  // the next round's; undefined where this rank has no shard in it
  void leave_coded(const Wire& wire, const Tensor& bytes);
  void end_round();  // waits for what the others have sent in it; nothing where none runs
  Tensor take();     // this rank's slice of the sum of all shards

 private:
  void begin_round();
  void leave_from(int64_t at);
  void sum_rows(const Tensor& rows, int64_t at);
  Group& group_;
  std::vector<Range> slices_;
  Fold fold_;
  DType dtype_;
  Device device_;
  int64_t rounds_ = 0;
  // Of the round that runs.
  int64_t first_ = 0, given_ = 0;  // shards
  std::vector<Node> nodes_;        // that they make
  std::vector<Tensor> sums_;       // of each
  Tensor leaf_, rows_;             // what leaves and what comes: [given, n] elements of the slice, or coded bytes
  const Wire* wire_ = nullptr;
  int64_t at_ = 0, longest_ = 0;
  Moving moving_;
};

}  // namespace dyadic::inline v1::distributed
