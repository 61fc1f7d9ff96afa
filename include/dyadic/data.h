// Data: datasets, samplers and the loader that turns them into batches.
//
//   auto train = std::make_shared<dy::data::TensorDataset>(std::vector{images, labels});
//   dy::data::DataLoader loader(train, {.batch_size = 64, .shuffle = true, .num_workers = 2});
//   for (const dy::data::Value& batch : loader) { dy::Tensor x = batch[0], y = batch[1]; ... }
//
// The batches of an epoch, their order and the random numbers drawn while they are made depend on the generators alone, not on
// the number of workers.
#pragma once
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dyadic/generator.h"

namespace dyadic::inline v1::data {

class Value;

// What belongs to another language (a Python object), inside a Value.
class Foreign {
 public:
  virtual ~Foreign();
  // Replaces those of `values` that belong to this language by what they hold: tensors, numbers, texts, lists. For collation.
  virtual void unfold(std::span<Value> values) const = 0;
  virtual std::string type_name() const = 0;
};

// A sample or a batch: a tensor, a number, a text, a list or named values of these, or something foreign.
class Value {
 public:
  using List = std::vector<Value>;
  using Named = std::vector<std::pair<std::string, Value>>;
  enum class Kind : uint8_t { none, tensor, number, text, list, named, foreign };

  Value() = default;
  Value(Tensor t) : v_(std::move(t)) {}
  Value(Scalar n) : v_(n) {}
  Value(std::string text) : v_(std::move(text)) {}
  Value(List list) : v_(std::move(list)) {}
  Value(Named named) : v_(std::move(named)) {}
  Value(std::shared_ptr<Foreign> object) : v_(std::move(object)) {}

  Kind kind() const { return Kind(v_.index()); }
  // TypeError naming what is there instead.
  const Tensor& tensor() const;
  Scalar number() const;
  const std::string& text() const;
  const List& list() const;
  const Named& named() const;
  const std::shared_ptr<Foreign>& foreign() const;
  operator const Tensor&() const { return tensor(); }

  size_t size() const;                              // of a list or named values
  const Value& operator[](size_t i) const;          // IndexError
  const Value& operator[](std::string_view) const;  // ValueError naming those there are
  std::string str() const;                          // "[f32[8, 8], 3]", for messages

  std::shared_ptr<const Foreign> type;  // of a list or named values: the foreign type that they came as
  bool tuple = false;  // of a list of texts: a column of samples that are sequences, which PyTorch has as a tuple

 private:
  std::variant<std::monostate, Tensor, Scalar, std::string, List, Named, std::shared_ptr<Foreign>> v_;
};

// A function that is kept, with what it captures.
template <class Signature> class Callback;
template <class R, class... A> class Callback<R(A...)> {
  std::shared_ptr<void> object_;
  R (*call_)(void*, A...) = nullptr;

 public:
  Callback() = default;
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, Callback> && std::is_invocable_r_v<R, F&, A...>)
  Callback(F f)
      : object_(std::make_shared<F>(std::move(f))),
        call_([](void* o, A... a) -> R { return (*static_cast<F*>(o))(std::forward<A>(a)...); }) {}
  explicit operator bool() const { return call_; }
  R operator()(A... a) const { return call_(object_.get(), std::forward<A>(a)...); }
};

// Datasets. Several threads may read one at once.

class Dataset {
 public:
  virtual ~Dataset();
  virtual int64_t size() = 0;
  virtual Value get(int64_t index) = 0;  // 0 <= index < size()
  // The samples of a batch; Errors, and exceptions of the standard library as Errors, name the index.
  virtual std::vector<Value> get_batch(IntList indices);
  Value operator[](int64_t index);  // negative counts from the end; IndexError
};

class ValueStream {
 public:
  virtual ~ValueStream();
  virtual bool next(Value& sample) = 0;  // false: there is no more
};
// Samples that come one after the other. One thread at a time reads them, in order, whatever the number of workers.
class IterableDataset : public Dataset {
 public:
  virtual std::unique_ptr<ValueStream> iter() = 0;
  int64_t size() override;  // TypeError unless overridden
  Value get(int64_t index) override;
};

// Rows of tensors whose first sizes are equal: sample i is a list of t[i].
class TensorDataset : public Dataset {
  std::vector<Tensor> tensors_;

 public:
  explicit TensorDataset(std::vector<Tensor> tensors);
  int64_t size() override { return tensors_[0].size(0); }
  Value get(int64_t index) override;
  const std::vector<Tensor>& tensors() const { return tensors_; }
};

class Subset : public Dataset {
  std::shared_ptr<Dataset> dataset_;
  std::vector<int64_t> indices_;

 public:
  Subset(std::shared_ptr<Dataset> dataset, std::vector<int64_t> indices)
      : dataset_(std::move(dataset)), indices_(std::move(indices)) {}
  int64_t size() override { return int64_t(indices_.size()); }
  Value get(int64_t index) override;
  std::vector<Value> get_batch(IntList indices) override;
  const std::shared_ptr<Dataset>& dataset() const { return dataset_; }
  const std::vector<int64_t>& indices() const { return indices_; }
};

// One dataset after the other.
class ConcatDataset : public Dataset {
  std::vector<std::shared_ptr<Dataset>> datasets_;
  std::vector<int64_t> ends_;

 public:
  explicit ConcatDataset(std::vector<std::shared_ptr<Dataset>> datasets);
  int64_t size() override { return ends_.back(); }
  Value get(int64_t index) override;
  const std::vector<std::shared_ptr<Dataset>>& datasets() const { return datasets_; }
  const std::vector<int64_t>& cumulative_sizes() const { return ends_; }
};

// One IterableDataset after the other.
class ChainDataset : public IterableDataset {
  std::vector<std::shared_ptr<IterableDataset>> datasets_;

 public:
  explicit ChainDataset(std::vector<std::shared_ptr<IterableDataset>> datasets) : datasets_(std::move(datasets)) {}
  std::unique_ptr<ValueStream> iter() override;
  int64_t size() override;
  const std::vector<std::shared_ptr<IterableDataset>>& datasets() const { return datasets_; }
};

// What `function` makes of each sample.
class MappedDataset : public Dataset {
  std::shared_ptr<Dataset> dataset_;
  Callback<Value(Value)> function_;

 public:
  MappedDataset(std::shared_ptr<Dataset> dataset, Callback<Value(Value)> function)
      : dataset_(std::move(dataset)), function_(std::move(function)) {}
  int64_t size() override { return dataset_->size(); }
  Value get(int64_t index) override { return function_(dataset_->get(index)); }
};

using Generators = std::shared_ptr<Generator>;  // null: the default generator

// Parts of these sizes that do not overlap, in random order. Fractions that sum to 1: rounded down, the rest given out in turn.
std::vector<std::shared_ptr<Subset>> random_split(const std::shared_ptr<Dataset>& dataset, IntList lengths,
                                                  Generators generator = {});
std::vector<std::shared_ptr<Subset>> random_split(const std::shared_ptr<Dataset>& dataset, std::span<const double> fractions,
                                                  Generators generator = {});

// Samplers: the indices of an epoch. What they draw, they draw in iter().

class IndexStream {
 public:
  virtual ~IndexStream();
  virtual bool next(int64_t& index) = 0;
};
class Sampler {
 public:
  virtual ~Sampler();
  virtual std::unique_ptr<IndexStream> iter() = 0;
  virtual int64_t size() = 0;
  virtual Generators generator() const { return {}; }  // its own; the loader's position holds its state
};

class SequentialSampler : public Sampler {
  int64_t n_;

 public:
  explicit SequentialSampler(int64_t n) : n_(n) {}
  std::unique_ptr<IndexStream> iter() override;
  int64_t size() override { return n_; }
};

// Without replacement: a new permutation each epoch (num_samples of it, or several if that is more).
class RandomSampler : public Sampler {
  std::shared_ptr<Dataset> dataset_;
  bool replacement_;
  std::optional<int64_t> num_samples_;
  Generators generator_;

 public:
  explicit RandomSampler(std::shared_ptr<Dataset> dataset, bool replacement = false, std::optional<int64_t> num_samples = {},
                         Generators generator = {});
  std::unique_ptr<IndexStream> iter() override;
  int64_t size() override { return num_samples_ ? *num_samples_ : dataset_->size(); }
  const std::shared_ptr<Dataset>& dataset() const { return dataset_; }
  Generators generator() const override { return generator_; }
};

class SubsetRandomSampler : public Sampler {
  std::vector<int64_t> indices_;
  Generators generator_;

 public:
  explicit SubsetRandomSampler(std::vector<int64_t> indices, Generators generator = {})
      : indices_(std::move(indices)), generator_(std::move(generator)) {}
  std::unique_ptr<IndexStream> iter() override;
  int64_t size() override { return int64_t(indices_.size()); }
  Generators generator() const override { return generator_; }
};

// Index i with probability weights[i] / sum; without replacement by exponential keys (Efraimidis and Spirakis 2006).
class WeightedRandomSampler : public Sampler {
  std::vector<double> weights_;
  int64_t num_samples_;
  bool replacement_;
  Generators generator_;

 public:
  WeightedRandomSampler(std::vector<double> weights, int64_t num_samples, bool replacement = true, Generators generator = {});
  std::unique_ptr<IndexStream> iter() override;
  int64_t size() override { return num_samples_; }
  Generators generator() const override { return generator_; }
  const std::vector<double>& weights() const { return weights_; }
};

// Every num_replicas-th index from `rank` on, of a permutation by seed + epoch (or in order). All replicas get equally many:
// the last indices are dropped, or the first given twice.
class DistributedSampler : public Sampler {
  std::shared_ptr<Dataset> dataset_;
  int64_t num_replicas_, rank_;
  bool shuffle_, drop_last_;
  uint64_t seed_;
  int64_t epoch_ = 0;

 public:
  DistributedSampler(std::shared_ptr<Dataset> dataset, int64_t num_replicas, int64_t rank, bool shuffle = true,
                     uint64_t seed = 0, bool drop_last = false);
  std::unique_ptr<IndexStream> iter() override;
  int64_t size() override;
  void set_epoch(int64_t epoch) { epoch_ = epoch; }
  int64_t epoch() const { return epoch_; }
  const std::shared_ptr<Dataset>& dataset() const { return dataset_; }
};

class BatchStream {
 public:
  virtual ~BatchStream();
  virtual bool next(std::vector<int64_t>& indices) = 0;
};
class BatchSampler {  // runs of batch_size indices of a sampler
  std::shared_ptr<Sampler> sampler_;
  int64_t batch_size_;
  bool drop_last_;

 protected:
  BatchSampler() = default;  // of one that overrides all

 public:
  BatchSampler(std::shared_ptr<Sampler> sampler, int64_t batch_size, bool drop_last);
  virtual ~BatchSampler();
  virtual std::unique_ptr<BatchStream> iter();
  virtual int64_t size();
  virtual Generators generator() const { return sampler_ ? sampler_->generator() : Generators(); }
  const std::shared_ptr<Sampler>& sampler() const { return sampler_; }
  int64_t batch_size() const { return batch_size_; }
  bool drop_last() const { return drop_last_; }
};

// Samples to a batch: tensors are stacked, numbers become a tensor (int64, float64, bool), texts a list; lists and named values
// entry by entry. TypeError or ValueError naming the sample that does not fit.
Value default_collate(std::vector<Value> samples);
Value default_convert(Value sample);  // foreign values as tensors and lists, nothing stacked

// In a worker (dataset, collate_fn, worker_init_fn); nothing elsewhere. An IterableDataset is read as if by one worker.
struct WorkerInfo {
  int id = 0, num_workers = 0;
  uint64_t seed = 0;  // of the epoch, plus id
  std::shared_ptr<Dataset> dataset;
};
const WorkerInfo* get_worker_info();
bool stopping();  // in a worker: nobody waits for this batch any more

struct DataLoaderOptions {
  std::optional<int64_t> batch_size = 1;  // none: samples as they are
  bool shuffle = false;
  std::shared_ptr<Sampler> sampler = {};
  std::shared_ptr<BatchSampler> batch_sampler = {};  // instead of batch_size, shuffle, sampler and drop_last
  int num_workers = 0;                               // threads that prepare batches; 0: the caller
  Callback<Value(std::vector<Value>)> collate_fn = {};
  bool drop_last = false;
  double timeout = 0;                       // seconds to wait for a batch; 0: for ever
  Callback<void(int)> worker_init_fn = {};  // in each worker, before the first batch
  Generators generator = {};
  std::optional<int> prefetch_factor = {};  // batches prepared ahead per worker; 2
  bool persistent_workers = false;          // threads outlive the epoch
};

// Where a loader is: numbers by name, for a checkpoint.
using LoaderState = std::map<std::string, uint64_t>;

class Epoch;
class DataLoader {
 public:
  explicit DataLoader(std::shared_ptr<Dataset> dataset, DataLoaderOptions options = {});
  ~DataLoader();
  DataLoader(const DataLoader&) = delete;

  int64_t size() const;           // batches in an epoch
  std::unique_ptr<Epoch> iter();  // the next epoch; after load_state_dict, what was left of that one
  class Iterator;
  Iterator begin();
  std::default_sentinel_t end() { return {}; }

  // The newest epoch's beginning and the number of batches that have been handed out, not those that workers have ready.
  LoaderState state_dict() const;
  void load_state_dict(const LoaderState& state);

  const std::shared_ptr<Dataset>& dataset() const { return dataset_; }
  const std::shared_ptr<Sampler>& sampler() const { return sampler_; }
  const std::shared_ptr<BatchSampler>& batch_sampler() const { return batch_sampler_; }
  const DataLoaderOptions& options() const { return options_; }

 private:
  friend class Epoch;
  struct Position;
  struct Crew;
  Generators order_generator() const;  // that the sampler draws from
  std::shared_ptr<Dataset> dataset_;
  IterableDataset* iterable_;
  DataLoaderOptions options_;
  std::shared_ptr<Sampler> sampler_;
  std::shared_ptr<BatchSampler> batch_sampler_;
  std::shared_ptr<Position> position_;
  std::shared_ptr<Crew> crew_;
  std::optional<LoaderState> resume_;
};

// One pass over the data. Dropped half-way, it waits for the samples that workers are making and forgets the rest.
class Epoch {
 public:
  ~Epoch();
  // What a worker threw is thrown here, in its batch's place. poll: called now and then while there is nothing; may throw.
  std::optional<Value> next(const Callback<void()>& poll = {});
  struct State;
  explicit Epoch(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

class DataLoader::Iterator {
  std::unique_ptr<Epoch> epoch_;
  std::optional<Value> value_;

 public:
  using value_type = Value;
  using difference_type = std::ptrdiff_t;
  explicit Iterator(std::unique_ptr<Epoch> epoch) : epoch_(std::move(epoch)) { ++*this; }
  const Value& operator*() const { return *value_; }
  Iterator& operator++() { return value_ = epoch_->next(), *this; }
  void operator++(int) { ++*this; }
  friend bool operator==(const Iterator& i, std::default_sentinel_t) { return !i.value_; }
};
inline DataLoader::Iterator DataLoader::begin() { return Iterator(iter()); }

}  // namespace dyadic::inline v1::data
