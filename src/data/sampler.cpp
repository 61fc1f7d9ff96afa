#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "data/permutation.h"
#include "ops/random/generator.h"

namespace dyadic::inline v1::data {

Sampler::~Sampler() = default;
IndexStream::~IndexStream() = default;
BatchStream::~BatchStream() = default;
BatchSampler::~BatchSampler() = default;

GeneratorState draw_from(const Generators& generator) {
  if (generator) return generator->draw();
  const Draw d = next_draw();
  return {d.seed, d.stream};
}

std::vector<int64_t> permutation(int64_t n, GeneratorState draw) {
  std::vector<int64_t> order(size_t(n), 0);
  random_permutation(draw.seed, draw.calls, n, order.data());
  return order;
}

namespace {

template <class F> class Generated : public IndexStream {  // n indices, each computed when it is asked for
  int64_t n_, at_ = 0;
  F index_;

 public:
  Generated(int64_t n, F index) : n_(n), index_(std::move(index)) {}
  bool next(int64_t& index) override {
    if (at_ == n_) return false;
    index = index_(at_++);
    return true;
  }
};
template <class F> std::unique_ptr<IndexStream> generated(int64_t n, F index) {
  return std::make_unique<Generated<F>>(n, std::move(index));
}
std::unique_ptr<IndexStream> listed(std::vector<int64_t> indices) {
  const int64_t n = int64_t(indices.size());
  return generated(n, [indices = std::move(indices)](int64_t i) { return indices[size_t(i)]; });
}

double uniform(GeneratorState draw, int64_t i) {
  double out;
  random_kernel().uniform_f64(draw.seed, draw.calls, uint64_t(i), 1, &out);
  return out;
}

}  // namespace

std::unique_ptr<IndexStream> SequentialSampler::iter() {
  return generated(n_, [](int64_t i) { return i; });
}

RandomSampler::RandomSampler(std::shared_ptr<Dataset> dataset, bool replacement, std::optional<int64_t> num_samples,
                             Generators generator)
    : dataset_(std::move(dataset)), replacement_(replacement), num_samples_(num_samples), generator_(std::move(generator)) {
  DY_CHECK_AS(ValueError, !num_samples_ || *num_samples_ > 0, "RandomSampler: num_samples is not positive: {}", *num_samples_);
}
std::unique_ptr<IndexStream> RandomSampler::iter() {
  const int64_t n = dataset_->size(), count = size();
  GeneratorState draw = draw_from(generator_);
  if (n == 0) return listed({});
  if (replacement_)
    return generated(count, [=](int64_t i) { return int64_t(random_below(draw.seed, draw.calls, uint64_t(i), uint64_t(n))); });
  std::vector<int64_t> order;
  while (int64_t(order.size()) < count) {
    if (!order.empty()) draw = draw_from(generator_);
    const auto more = permutation(n, draw);
    order.insert(order.end(), more.begin(), more.begin() + std::min(n, count - int64_t(order.size())));
  }
  return listed(std::move(order));
}

std::unique_ptr<IndexStream> SubsetRandomSampler::iter() {
  std::vector<int64_t> order = permutation(size(), draw_from(generator_));
  for (int64_t& i : order) i = indices_[size_t(i)];
  return listed(std::move(order));
}

WeightedRandomSampler::WeightedRandomSampler(std::vector<double> weights, int64_t num_samples, bool replacement,
                                             Generators generator)
    : weights_(std::move(weights)), num_samples_(num_samples), replacement_(replacement), generator_(std::move(generator)) {
  DY_CHECK_AS(ValueError, num_samples_ > 0, "WeightedRandomSampler: num_samples is not positive: {}", num_samples_);
  int64_t possible = 0;
  for (double w : weights_) {
    DY_CHECK_AS(ValueError, w >= 0 && std::isfinite(w), "WeightedRandomSampler: a weight is negative or not finite: {}", w);
    possible += w > 0;
  }
  DY_CHECK_AS(ValueError, possible > 0, "WeightedRandomSampler: no weight is positive");
  DY_CHECK_AS(
      ValueError, replacement_ || num_samples_ <= possible,
      "WeightedRandomSampler: without replacement at most as many samples as positive weights: num_samples is {}, there "
      "are {}",
      num_samples_, possible);
}
std::unique_ptr<IndexStream> WeightedRandomSampler::iter() {
  const GeneratorState draw = draw_from(generator_);
  if (replacement_) {
    std::vector<double> sums(weights_.size());
    std::partial_sum(weights_.begin(), weights_.end(), sums.begin());
    const auto last = std::find_if(weights_.rbegin(), weights_.rend(), [](double w) { return w > 0; }).base() - 1;
    return generated(num_samples_, [draw, sums = std::move(sums), last = last - weights_.begin()](int64_t i) {
      const auto at = std::upper_bound(sums.begin(), sums.end(), uniform(draw, i) * sums.back()) - sums.begin();
      return int64_t(std::min(at, last));  // the product may round up to the sum
    });
  }
  std::vector<std::pair<double, int64_t>> keys;
  for (size_t i = 0; i < weights_.size(); ++i)
    if (weights_[i] > 0) keys.emplace_back(-std::log1p(-uniform(draw, int64_t(i))) / weights_[i], int64_t(i));
  std::partial_sort(keys.begin(), keys.begin() + num_samples_, keys.end());
  std::vector<int64_t> order;
  for (int64_t i = 0; i < num_samples_; ++i) order.push_back(keys[size_t(i)].second);
  return listed(std::move(order));
}

DistributedSampler::DistributedSampler(std::shared_ptr<Dataset> dataset, int64_t num_replicas, int64_t rank, bool shuffle,
                                       uint64_t seed, bool drop_last)
    : dataset_(std::move(dataset)),
      num_replicas_(num_replicas),
      rank_(rank),
      shuffle_(shuffle),
      drop_last_(drop_last),
      seed_(seed) {
  DY_CHECK_AS(ValueError, num_replicas > 0, "DistributedSampler: num_replicas is not positive: {}", num_replicas);
  DY_CHECK_AS(ValueError, rank >= 0 && rank < num_replicas, "DistributedSampler: the rank is not in [0, {}): {}", num_replicas,
              rank);
}
int64_t DistributedSampler::size() {
  const int64_t n = dataset_->size();
  return drop_last_ ? n / num_replicas_ : (n + num_replicas_ - 1) / num_replicas_;
}
std::unique_ptr<IndexStream> DistributedSampler::iter() {
  const int64_t n = dataset_->size(), count = size();
  std::vector<int64_t> order(size_t(n), 0);
  if (shuffle_)
    order = permutation(n, {seed_ + uint64_t(epoch_), 0});
  else
    std::iota(order.begin(), order.end(), 0);
  return generated(count, [this_rank = rank_, step = num_replicas_, n, order = std::move(order)](int64_t i) {
    return order[size_t((this_rank + i * step) % n)];
  });
}

BatchSampler::BatchSampler(std::shared_ptr<Sampler> sampler, int64_t batch_size, bool drop_last)
    : sampler_(std::move(sampler)), batch_size_(batch_size), drop_last_(drop_last) {
  DY_CHECK_AS(ValueError, batch_size > 0, "BatchSampler: batch_size is not positive: {}", batch_size);
}
int64_t BatchSampler::size() {
  const int64_t n = sampler_->size();
  return drop_last_ ? n / batch_size_ : (n + batch_size_ - 1) / batch_size_;
}
std::unique_ptr<BatchStream> BatchSampler::iter() {
  class Runs : public BatchStream {
    std::unique_ptr<IndexStream> indices_;
    int64_t size_;
    bool drop_last_;

   public:
    Runs(std::unique_ptr<IndexStream> indices, int64_t size, bool drop_last)
        : indices_(std::move(indices)), size_(size), drop_last_(drop_last) {}
    bool next(std::vector<int64_t>& out) override {
      out.clear();
      for (int64_t i; int64_t(out.size()) < size_ && indices_->next(i);) out.push_back(i);
      return drop_last_ ? int64_t(out.size()) == size_ : !out.empty();
    }
  };
  return std::make_unique<Runs>(sampler_->iter(), batch_size_, drop_last_);
}

}  // namespace dyadic::inline v1::data
