#include "distributed/buckets.h"

#include <algorithm>

#include "base/check.h"
#include "dyadic/autograd.h"
#include "dyadic/ops.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::distributed {
namespace {

// Buckets whose sums are on their way at most: what comes of others takes as much memory as what leaves.
constexpr size_t kOnTheirWay = 2;

}  // namespace

void Buckets::begin(const std::vector<Tensor>& params, const std::vector<Tensor>& buffers) {
  buckets_.clear(), places_.clear();
  left_ = reduced_ = 0, leaving_ = false;
  const DType dtype = Flat(params, buffers).dtype();  // of all: how they are cut changes no bits
  const auto add = [&](const std::vector<Tensor>& some, const std::vector<Tensor>& more) {
    Flat layout(some, more, dtype);
    ShardSum sum(group_, shards_, layout.size(), dtype, layout.device());
    for (const Tensor& p : layout.params()) places_.insert({p.impl(), {buckets_.size()}});
    const size_t missing = layout.params().size();
    buckets_.push_back({std::move(layout), std::move(sum), missing});
  };
  if (owned_ || group_.size() == 1) return add(params, buffers);
  std::vector<Tensor> some;
  int64_t bytes = 0;
  for (size_t i = params.size(); i-- > 0;) {
    some.push_back(params[i]);
    bytes += params[i].requires_grad() ? params[i].numel() * dtype.itemsize() : 0;
    if (bytes < bytes_) continue;
    add(some, {});
    some.clear(), bytes = 0;
  }
  add(some, buffers);
}

void Buckets::watch(const std::vector<Tensor>& params) {
  if (group_.size() == 1 || owned_) return;
  for (const Tensor& p : params)
    if (p.requires_grad() && hooked_.insert(p.impl()).second)
      register_post_accumulate_grad_hook(p, [weak = weak_from_this()](const Tensor& leaf) {
        if (const auto self = weak.lock()) self->complete(leaf);
      });
}

// Sums leave in one order on every rank. A bucket leaves when the next gradient comes, so that other hooks of its own last one
// have seen it.
void Buckets::complete(const Tensor& parameter) {
  if (!leaving_) return;
  move_on(group_);
  const auto at = places_.find(parameter.impl());
  while (left_ + 1 < buckets_.size() && !buckets_[left_].missing && (at == places_.end() || at->second.bucket != left_)) {
    take(buckets_[left_]);
    leave();
  }
  if (at == places_.end()) return;
  DY_CHECK(
      at->second.bucket >= left_,
      "distributed: the gradient of a parameter {} went to the other ranks, and then a backward inside of this one added to "
      "it: let what reads it twice be in one of them",
      describe(parameter));
  if (!std::exchange(at->second.complete, true)) --buckets_[at->second.bucket].missing;
}

void Buckets::add(double weight, const double (&numbers)[Flat::kNumbers]) {
  NoGrad guard;
  for (size_t i = left_; i + 1 < buckets_.size(); ++i) take(buckets_[i]);
  buckets_.back().sum.add(buckets_.back().layout.take(weight, numbers));
}

// What this rank has of the next one leaves.
void Buckets::leave() {
  if (left_ - reduced_ == kOnTheirWay) reduce_first();
  ShardSum& sum = buckets_[left_++].sum;
  owned_ ? sum.leave(buckets_[0].layout.spread(group_.size())) : sum.leave();
}

void Buckets::reduce_first() {
  ShardSum& sum = buckets_[reduced_++].sum;
  sum.reduce();
  if (!owned_) sum.give_back();
}

void Buckets::end(double (&numbers)[Flat::kNumbers], double by) {
  NoGrad guard;
  leaving_ = false;
  while (left_ < buckets_.size()) leave();
  while (reduced_ < buckets_.size()) reduce_first();
  for (Bucket& b : buckets_) {
    const Tensor sum = b.sum.sum();
    if (by != 1) sum.div_(by);
    if (owned_ && group_.size() > 1) {
      const std::vector<Range>& slices = b.sum.slices();
      std::vector<Range> tail(slices.size(), Range{b.layout.tail().begin, b.layout.tail().begin});
      tail.back() = b.layout.tail();
      gather(Call(group_, "the end of a sum", b.layout.device()), bytes_of(sum), tail, tail.back().end - tail.back().begin,
             b.layout.dtype().itemsize());
      b.layout.give(sum, numbers, slices[size_t(group_.rank())]);
    } else {
      b.layout.give(sum, numbers);
    }
  }
  buckets_.clear(), places_.clear();
}

}  // namespace dyadic::inline v1::distributed
