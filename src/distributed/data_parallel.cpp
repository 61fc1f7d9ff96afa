#include "dyadic/data_parallel.h"

#include "base/check.h"
#include "distributed/call.h"
#include "distributed/flat.h"
#include "distributed/shards.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::distributed {
using data::Value;

void begin_equal(nn::Module& model, Group& group) {
  for (const std::vector<Tensor>& list : {model.parameters(), model.buffers()})
    for (const Tensor& t : list)
      if (!t.is_meta()) group.broadcast(t);
}

DataParallel::DataParallel(nn::Module& model, Group& group, int64_t shards, bool spread)
    : model_(model), group_(group), shards_(shards), spread_(spread && group.size() > 1) {
  DY_CHECK_AS(ValueError, shards >= 1, "DataParallel: {} shards; at least one", shards);
  DY_CHECK_AS(ValueError, shards >= group.size(),
              "DataParallel: {} ranks share {} shards; start at most as many, or cut batches "
              "into more",
              group.size(), shards);
  begin_equal(model, group);
}

double DataParallel::backward(const Value& batch, const data::Callback<Tensor(const Value&)>& loss_of, double scale) {
  constexpr uint64_t kDraws = 1 << 20;  // of random numbers, that a shard may use
  const int64_t n = sample_count(batch);
  DY_CHECK_AS(ValueError, n > 0, "DataParallel: the batch {} has no tensor of samples", batch.str());
  DY_CHECK_AS(ValueError, n >= shards_,
              "DataParallel: rank {}: a batch of {} samples is cut into {} shards; make it larger, or "
              "pass fewer shards",
              group_.rank(), n, shards_);
  const std::vector<Tensor> buffers = model_.buffers();
  const Flat layout(model_.parameters(), buffers);
  std::vector<Tensor> before;
  for (const Tensor& b : buffers) before.push_back(b.clone());
  const GeneratorState random = generator_state();
  ShardSum sum(group_, shards_, layout.size(), layout.dtype(), layout.device());
  for (int64_t k = sum.first(); k < sum.last(); ++k) {
    for (size_t i = 0; i < buffers.size() && k > sum.first(); ++i) buffers[i].detach().copy_(before[i]);
    set_generator_state({random.seed, random.calls + uint64_t(k) * kDraws});
    const int64_t begin = even_begin(n, int(k), int(shards_)), end = even_begin(n, int(k) + 1, int(shards_));
    const double weight = double(end - begin) / double(n);
    double value = 0;
    {
      const Tensor loss = loss_of(samples(batch, begin, end));
      if (!loss.is_meta()) value = loss.item();
      (loss * (weight * scale)).backward();
    }
    NoGrad guard;
    sum.add(layout.take(weight, {value * weight, double(asking_ && k == sum.first())}));
  }
  set_generator_state({random.seed, random.calls + uint64_t(shards_) * kDraws});
  asking_ = false;
  NoGrad guard;
  double numbers[Flat::kNumbers];
  if (spread_) {
    const std::vector<Range> slices = layout.spread(group_.size());
    const Tensor flat = sum.scattered(slices);
    std::vector<Range> tail(slices.size(), Range{layout.tail().begin, layout.tail().begin});
    tail.back() = layout.tail();
    if (group_.size() > 1 && !layout.device().is_meta())
      gather(Call(group_, "the end of a sum"), static_cast<char*>(flat.data_ptr()), tail, tail.back().end - tail.back().begin,
             layout.dtype().itemsize());
    layout.give(flat, numbers, slices[size_t(group_.rank())]);
  } else {
    layout.give(sum.sum(), numbers);
  }
  asked_ = numbers[1] > 0;
  return numbers[0];
}

}  // namespace dyadic::inline v1::distributed
