#include "study/source.h"

#include <algorithm>

#include "base/check.h"
#include "study/example.h"

namespace dyadic::inline v1::study {
namespace {

using data::DataLoader;
using data::Value;

constexpr const char* kNoSplit =
    "study: no part of {} can be held back to evaluate; pass evaluation: other batches, which training does not see";

// Batches that are one function of the step.
class FunctionSource : public Source {
  data::Callback<Value(int64_t)> batch_;

  struct Steps : Stream {
    FunctionSource& source;
    explicit Steps(FunctionSource& s) : source(s) {}
    Value next(int64_t step) override { return source.batch_(step); }
  };

 public:
  explicit FunctionSource(data::Callback<Value(int64_t)> batch) : batch_(std::move(batch)) {
    DY_CHECK_AS(ValueError, batch_, "study: batches: there is no function");
  }
  std::unique_ptr<Stream> stream() override { return std::make_unique<Steps>(*this); }
  void each(FunctionRef<bool(const Value&)>) override {
    fail<ValueError>("study: evaluation: a function of the step has no end; pass a list of batches or a loader");
  }
  int64_t size() override { return 0; }
  std::pair<std::shared_ptr<Source>, std::shared_ptr<Source>> split() override {
    fail<ValueError>(kNoSplit, "a function's batches");
  }
};

class ListSource : public Source {
  std::vector<Value> batches_;

  struct Steps : Stream {
    ListSource& source;
    explicit Steps(ListSource& s) : source(s) {}
    Value next(int64_t step) override { return source.batches_[size_t(step) % source.batches_.size()]; }
  };

 public:
  explicit ListSource(std::vector<Value> batches) : batches_(std::move(batches)) {
    DY_CHECK_AS(ValueError, !batches_.empty(), "study: there is no batch in an empty list");
    for (const Value& batch : batches_) as_data(batch);
  }
  std::unique_ptr<Stream> stream() override { return std::make_unique<Steps>(*this); }
  void each(FunctionRef<bool(const Value&)> body) override {
    for (const Value& batch : batches_)
      if (!body(batch)) return;
  }
  int64_t size() override { return int64_t(batches_.size()); }
  std::pair<std::shared_ptr<Source>, std::shared_ptr<Source>> split() override {
    DY_CHECK_AS(ValueError, size() > 1, kNoSplit, "a single batch");
    const auto held = std::max<int64_t>(size() / 10, 1);
    return {std::make_shared<ListSource>(std::vector(batches_.begin(), batches_.end() - held)),
            std::make_shared<ListSource>(std::vector(batches_.end() - held, batches_.end()))};
  }
};

// A loader, borrowed or made here. It is brought back to where it was for every run.
class LoaderSource : public Source {
  std::shared_ptr<DataLoader> own_;
  DataLoader& loader_;
  data::LoaderState begin_;

  class Epochs : public Stream {
    std::shared_ptr<DataLoader> own_;
    DataLoader& loader_;
    std::unique_ptr<data::Epoch> epoch_;

   public:
    explicit Epochs(DataLoader& loader) : loader_(loader) {}
    explicit Epochs(std::shared_ptr<DataLoader> loader) : own_(std::move(loader)), loader_(*own_) {}
    Value next(int64_t) override {
      if (!epoch_) epoch_ = loader_.iter();
      std::optional<Value> batch = epoch_->next();
      if (!batch) {
        epoch_ = loader_.iter();
        batch = epoch_->next();
      }
      DY_CHECK_AS(ValueError, batch, "study: the loader has no batch");
      return std::move(*batch);
    }
    void add_to(train::Checkpoint& run) override { run.add("data", loader_); }
  };

 public:
  explicit LoaderSource(DataLoader& loader) : loader_(loader), begin_(loader.state_dict()) {}
  explicit LoaderSource(std::shared_ptr<DataLoader> loader)
      : own_(std::move(loader)), loader_(*own_), begin_(loader_.state_dict()) {}

  std::unique_ptr<Stream> stream() override {
    loader_.load_state_dict(begin_);
    return std::make_unique<Epochs>(loader_);
  }
  std::unique_ptr<Stream> alone() override {
    data::DataLoaderOptions o = loader_.options();
    if (!o.num_workers) return stream();
    o.num_workers = 0, o.prefetch_factor.reset(), o.persistent_workers = false;
    return std::make_unique<Epochs>(std::make_shared<DataLoader>(loader_.dataset(), o));
  }
  Ahead ahead() override {
    const data::DataLoaderOptions& o = loader_.options();
    return {o.num_workers * o.prefetch_factor.value_or(2), o.num_workers};
  }
  // What the loader draws is no part of the run.
  void each(FunctionRef<bool(const Value&)> body) override {
    const GeneratorState before = generator_state();
    loader_.load_state_dict(begin_);
    for (const Value& batch : loader_)
      if (!body(batch)) break;
    set_generator_state(before);
  }
  int64_t size() override { return loader_.size(); }
  int64_t last_rows() override {
    const data::DataLoaderOptions& o = loader_.options();
    return o.batch_sampler || o.drop_last || !loader_.sampler() ? 0 : loader_.sampler()->size() % o.batch_size.value_or(1);
  }

  std::pair<std::shared_ptr<Source>, std::shared_ptr<Source>> split() override {
    const std::shared_ptr<data::Dataset>& all = loader_.dataset();
    data::DataLoaderOptions o = loader_.options();
    const bool plain = !dynamic_cast<data::IterableDataset*>(all.get()) && !o.sampler && !o.batch_sampler && all->size() > 1;
    DY_CHECK_AS(ValueError, plain, kNoSplit, "a loader with a sampler of its own, or without an index");
    const int64_t n = all->size(), held = std::max<int64_t>(n / 10, 1);
    std::vector<int64_t> rows(size_t(n), 0);
    for (int64_t i = 0; i < n; ++i) rows[size_t(i)] = i;
    const auto part = [&](int64_t from, int64_t to) {
      return std::make_shared<data::Subset>(all, std::vector(rows.begin() + from, rows.begin() + to));
    };
    auto train = std::make_shared<DataLoader>(part(0, n - held), o);
    o.shuffle = o.drop_last = false;
    return {std::make_shared<LoaderSource>(std::move(train)),
            std::make_shared<LoaderSource>(std::make_shared<DataLoader>(part(n - held, n), o))};
  }
};

}  // namespace

Stream::~Stream() = default;
Source::~Source() = default;

Batches::Batches(DataLoader& loader) : source_(std::make_shared<LoaderSource>(loader)) {}
Batches::Batches(std::vector<Value> batches) : source_(std::make_shared<ListSource>(std::move(batches))) {}
Batches::Batches(data::Callback<Value(int64_t)> batch) : source_(std::make_shared<FunctionSource>(std::move(batch))) {}

}  // namespace dyadic::inline v1::study
