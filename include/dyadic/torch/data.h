// Datasets of examples, transforms, samplers and data loaders, as libtorch has them. A batch is read by the caller when it is
// asked for; data.h has a loader with workers.
#pragma once
#include "dyadic/data_files.h"
#include "dyadic/torch/names.h"

namespace torch::data {

template <class Data = Tensor, class Target = Tensor> struct Example {
  Data data{};
  Target target{};
};
struct NoTarget {};
using TensorExample = Example<Tensor, NoTarget>;

template <class Source, class Transform> class MapDataset;

namespace datasets {
// What has size() and get_batch(indices).
template <class Self, class Batch> class BatchDataset {
 public:
  using SelfType = Self;
  using BatchType = Batch;
  virtual ~BatchDataset() = default;
  virtual Batch get_batch(ArrayRef<size_t> indices) = 0;
  virtual optional<size_t> size() const = 0;
  template <class Transform> MapDataset<Self, Transform> map(Transform transform) & {
    return {static_cast<Self&>(*this), std::move(transform)};
  }
  template <class Transform> MapDataset<Self, Transform> map(Transform transform) && {
    return {std::move(static_cast<Self&>(*this)), std::move(transform)};
  }
};
template <class Self, class E = Example<>> class Dataset : public BatchDataset<Self, std::vector<E>> {
 public:
  using ExampleType = E;
  virtual E get(size_t index) = 0;
  std::vector<E> get_batch(ArrayRef<size_t> indices) override {
    std::vector<E> batch;
    batch.reserve(indices.size());
    for (size_t i : indices) batch.push_back(get(i));
    return batch;
  }
};
class TensorDataset : public Dataset<TensorDataset, TensorExample> {
  Tensor tensor_;

 public:
  explicit TensorDataset(Tensor t) : tensor_(std::move(t)) {}
  TensorExample get(size_t i) override { return {tensor_[int64_t(i)], {}}; }
  optional<size_t> size() const override { return size_t(tensor_.size(0)); }
};
// The four files of the MNIST family in a folder, packed by gzip or not: images [N, 1, 28, 28] from 0 to 1.
class MNIST : public Dataset<MNIST> {
  Tensor images_, targets_;
  static Tensor read(const std::string& path) {
    try {
      return dyadic::data::read_idx(path);
    } catch (const Error&) { return dyadic::data::read_idx(path + ".gz"); }
  }

 public:
  enum class Mode { kTrain, kTest };
  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain) {
    const std::string start = root + (mode == Mode::kTrain ? "/train-" : "/t10k-");
    images_ = read(start + "images-idx3-ubyte").to(kFloat).unsqueeze(1) / 255;
    targets_ = read(start + "labels-idx1-ubyte").to(kLong);
  }
  Example<> get(size_t i) override { return {images_[int64_t(i)], targets_[int64_t(i)]}; }
  optional<size_t> size() const override { return size_t(images_.size(0)); }
  bool is_train() const { return images_.size(0) == 60000; }
  const Tensor& images() const { return images_; }
  const Tensor& targets() const { return targets_; }
};
}  // namespace datasets

namespace transforms {
// Of a whole batch; of one example.
template <class In, class Out> class BatchTransform {
 public:
  virtual ~BatchTransform() = default;
  virtual Out apply_batch(In batch) = 0;
};
template <class In, class Out> class Transform : public BatchTransform<std::vector<In>, std::vector<Out>> {
 public:
  virtual Out apply(In example) = 0;
  std::vector<Out> apply_batch(std::vector<In> batch) override {
    std::vector<Out> all;
    all.reserve(batch.size());
    for (auto& e : batch) all.push_back(apply(std::move(e)));
    return all;
  }
};
template <class In, class Out = In> class Lambda : public Transform<In, Out> {
  std::function<Out(In)> function_;

 public:
  template <class F> explicit Lambda(F f) : function_(std::move(f)) {}
  Out apply(In example) override { return function_(std::move(example)); }
};
template <class In, class Out = In> class BatchLambda : public BatchTransform<In, Out> {
  std::function<Out(In)> function_;

 public:
  template <class F> explicit BatchLambda(F f) : function_(std::move(f)) {}
  Out apply_batch(In batch) override { return function_(std::move(batch)); }
};
template <class Target = Tensor> class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  virtual Tensor operator()(Tensor input) = 0;
  Example<Tensor, Target> apply(Example<Tensor, Target> e) override {
    e.data = (*this)(std::move(e.data));
    return e;
  }
};
// (x - mean) / stddev, by channel, the first dimension.
template <class Target = Tensor> class Normalize : public TensorTransform<Target> {
  std::vector<double> mean_, stddev_;
  static Tensor column(const std::vector<double>& v, DType dtype) {
    return tensor(v).to(dtype).view({int64_t(v.size()), 1, 1});
  }

 public:
  Normalize(double mean, double stddev) : mean_{mean}, stddev_{stddev} {}
  Normalize(std::vector<double> mean, std::vector<double> stddev) : mean_(std::move(mean)), stddev_(std::move(stddev)) {}
  Tensor operator()(Tensor x) override { return (x - column(mean_, x.dtype())) / column(stddev_, x.dtype()); }
};
template <class E = Example<>> class Stack;
template <> class Stack<Example<>> : public BatchTransform<std::vector<Example<>>, Example<>> {
 public:
  Example<> apply_batch(std::vector<Example<>> batch) override {
    std::vector<Tensor> data, targets;
    for (auto& e : batch) data.push_back(std::move(e.data)), targets.push_back(std::move(e.target));
    return {stack(data), stack(targets)};
  }
};
template <> class Stack<TensorExample> : public BatchTransform<std::vector<TensorExample>, TensorExample> {
 public:
  TensorExample apply_batch(std::vector<TensorExample> batch) override {
    std::vector<Tensor> data;
    for (auto& e : batch) data.push_back(std::move(e.data));
    return {stack(data), {}};
  }
};
}  // namespace transforms

template <class Source, class Transform>
class MapDataset
    : public datasets::BatchDataset<MapDataset<Source, Transform>, decltype(std::declval<Transform&>().apply_batch(
                                                                       std::declval<typename Source::BatchType>()))> {
  Source source_;
  Transform transform_;

 public:
  using Batch = decltype(std::declval<Transform&>().apply_batch(std::declval<typename Source::BatchType>()));
  MapDataset(Source source, Transform transform) : source_(std::move(source)), transform_(std::move(transform)) {}
  Batch get_batch(ArrayRef<size_t> indices) override { return transform_.apply_batch(source_.get_batch(indices)); }
  optional<size_t> size() const override { return source_.size(); }
  const Source& dataset() const { return source_; }
};

namespace samplers {
// The indices of an epoch, a run at a time.
class Sampler {
 protected:
  std::vector<size_t> order_;
  size_t next_ = 0;

 public:
  explicit Sampler(size_t size) : order_(size) { std::iota(order_.begin(), order_.end(), size_t(0)); }
  virtual ~Sampler() = default;
  virtual void reset(optional<size_t> size = nullopt) {
    if (size && *size != order_.size()) order_.resize(*size), std::iota(order_.begin(), order_.end(), size_t(0));
    next_ = 0;
  }
  optional<std::vector<size_t>> next(size_t batch_size) {
    if (next_ >= order_.size()) return nullopt;
    const size_t end = std::min(order_.size(), next_ + batch_size);
    std::vector<size_t> batch(order_.begin() + int64_t(next_), order_.begin() + int64_t(end));
    next_ = end;
    return batch;
  }
};
class SequentialSampler : public Sampler {
  using Sampler::Sampler;
};
class RandomSampler : public Sampler {
 public:
  using Sampler::Sampler;
  void reset(optional<size_t> size = nullopt) override {
    Sampler::reset(size);
    const Tensor order = randperm(int64_t(order_.size()));
    for (size_t i = 0; i < order_.size(); ++i) order_[i] = size_t(order.data_ptr<int64_t>()[i]);
  }
};
}  // namespace samplers

class DataLoaderOptions {
 public:
  DataLoaderOptions() = default;
  DataLoaderOptions(size_t batch_size) : batch_size_(batch_size) {}
  TORCH_ARG(size_t, batch_size) = 1;
  TORCH_ARG(size_t, workers) = 0;  // changes nothing: batches are read one after the other
  TORCH_ARG(bool, drop_last) = false;
  TORCH_ARG(bool, enforce_ordering) = true;  // changes nothing: batches are read one after the other
  TORCH_ARG(optional<size_t>, max_jobs);     // changes nothing: batches are read one after the other
};

template <class Dataset, class Sampler> class StatelessDataLoader {
  using Batch = typename Dataset::BatchType;
  Dataset dataset_;
  Sampler sampler_;
  DataLoaderOptions options_;
  optional<Batch> read() {
    auto indices = sampler_.next(options_.batch_size());
    if (!indices || (options_.drop_last() && indices->size() < options_.batch_size())) return nullopt;
    return dataset_.get_batch(*indices);
  }

 public:
  class Iterator {
    StatelessDataLoader* loader_ = nullptr;
    optional<Batch> batch_{};

   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using reference = Batch&;
    using pointer = Batch*;
    using iterator_category = std::input_iterator_tag;
    Iterator() = default;
    explicit Iterator(StatelessDataLoader* loader) : loader_(loader), batch_(loader->read()) {}
    Batch& operator*() { return *batch_; }
    Batch* operator->() { return &*batch_; }
    Iterator& operator++() { return batch_ = loader_->read(), *this; }
    bool operator==(const Iterator& o) const { return batch_.has_value() == o.batch_.has_value(); }
  };
  StatelessDataLoader(Dataset dataset, Sampler sampler, DataLoaderOptions options)
      : dataset_(std::move(dataset)), sampler_(std::move(sampler)), options_(options) {}
  Iterator begin() {
    sampler_.reset();
    return Iterator(this);
  }
  Iterator end() { return {}; }
  const DataLoaderOptions& options() const { return options_; }
};

template <class Dataset, class Sampler>
std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset, Sampler sampler,
                                                                        DataLoaderOptions options = {}) {
  return std::make_unique<StatelessDataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler), options);
}
template <class Sampler = samplers::RandomSampler, class Dataset>
std::unique_ptr<StatelessDataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset, DataLoaderOptions options = {}) {
  const optional<size_t> size = dataset.size();
  TORCH_CHECK(size, "make_data_loader: the dataset does not know its size; give a sampler");
  return make_data_loader(std::move(dataset), Sampler(*size), options);
}

}  // namespace torch::data
