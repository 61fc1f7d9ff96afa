// The sums of a model's gradients over shards and ranks, in buckets, the last parameters' first: while backward computes the
// rest of them, those that are complete are on their way.
#pragma once
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "distributed/flat.h"
#include "distributed/shards.h"

namespace dyadic::inline v1::distributed {

class Buckets : public std::enable_shared_from_this<Buckets> {
 public:
  // `owned`: whole parameters belong to one rank each, which alone has their gradients at the end; then all is one bucket.
  Buckets(Group& group, int64_t shards, bool owned, int64_t bytes)
      : group_(group), shards_(shards), bytes_(bytes), owned_(owned) {}

  // A step: of those parameters that require grad and of those buffers that are floats.
  void begin(const std::vector<Tensor>& params, const std::vector<Tensor>& buffers);
  int64_t first() const { return buckets_[0].sum.first(); }  // of this rank's shards
  int64_t last() const { return buckets_[0].sum.last(); }
  void last_shard() { leaving_ = true; }          // its backward begins: from here on buckets leave when they are complete
  void complete(const Tensor& parameter);         // its gradient is; for who does not watch()
  void watch(const std::vector<Tensor>& params);  // from here on, as hooks of them
  void add(double weight, const double (&numbers)[Flat::kNumbers]);  // the next shard's backward has ended
  // The sums, divided by `by`, become the parameters' gradients and the buffers' values.
  void end(double (&numbers)[Flat::kNumbers], double by = 1);

 private:
  struct Bucket {
    Flat layout;
    ShardSum sum;
    size_t missing;  // gradients
  };
  static void take(Bucket& b) { b.sum.add(b.layout.take(1, {0, 0})); }  // one of gradients alone
  struct Place {
    size_t bucket;
    bool complete = false;
  };
  void leave();
  void reduce_first();
  Group& group_;
  int64_t shards_, bytes_;
  bool owned_, leaving_ = false;
  std::unordered_set<TensorImpl*> hooked_;
  std::vector<Bucket> buckets_;  // the last one has the buffers and the numbers, and leaves at the end
  std::unordered_map<TensorImpl*, Place> places_;
  size_t left_ = 0, reduced_ = 0;  // buckets
};

}  // namespace dyadic::inline v1::distributed
