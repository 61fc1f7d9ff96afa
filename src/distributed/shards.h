// Sums over the shards of a batch, in one tree whatever the number of ranks: each rank adds what the tree has of its own
// shards, then ranks exchange what is left and add that in the tree's order.
#pragma once
#include "distributed/call.h"
#include "distributed/tree.h"
#include "dyadic/distributed.h"

namespace dyadic::inline v1::distributed {

class ShardSum {
 public:
  // Of flat tensors of n elements. ValueError where there are more ranks than shards.
  ShardSum(Group& group, int64_t shards, int64_t n, DType dtype, Device device);
  int64_t first() const { return first_; }  // of this rank's shards
  int64_t last() const { return last_; }
  void add(Tensor leaf);  // shard first(), then the next one ...; keeps it and writes over it
  Tensor sum();           // of all shards, on every rank
  // The same, but of the result only this rank's slice is right; slices are one for each rank, side by side.
  Tensor scattered(const std::vector<Range>& slices);

 private:
  Group& group_;
  Node tree_;
  int64_t n_, first_, last_, next_;
  DType dtype_;
  Device device_;
  std::vector<std::pair<Node, Tensor>> made_;  // left to right
};

}  // namespace dyadic::inline v1::distributed
