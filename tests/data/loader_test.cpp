// The C++ side of datasets, samplers and the loader; what Python shares is tested in tests/python/test_data.py.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/parallel.h"
#include "base/workers.h"
#include "dyadic/data.h"
#include "dyadic/device.h"
#include "dyadic/io.h"

namespace dyadic::testing {
namespace {

using namespace data;

std::shared_ptr<TensorDataset> rows(int64_t n) {
  return std::make_shared<TensorDataset>(std::vector{arange(0, 2 * n).view({n, 2}), arange(0, n)});
}

struct Noisy : Dataset {
  int64_t n;
  explicit Noisy(int64_t n) : n(n) {}
  int64_t size() override { return n; }
  Value get(int64_t i) override { return randn({3}) + i; }
};
struct Counted : IterableDataset {
  int64_t n;
  explicit Counted(int64_t n) : n(n) {}
  std::unique_ptr<ValueStream> iter() override {
    struct Stream : ValueStream {
      int64_t i = 0, n;
      explicit Stream(int64_t n) : n(n) {}
      bool next(Value& v) override { return i < n ? v = Scalar(i++), true : false; }
    };
    return std::make_unique<Stream>(n);
  }
};

std::vector<std::vector<double>> values(DataLoader& loader) {
  std::vector<std::vector<double>> out;
  for (const Value& batch : loader) out.push_back((batch.kind() == Value::Kind::list ? batch[0] : batch).tensor().to_vector());
  return out;
}
template <class E, class F> std::string error_of(F&& f) {
  try {
    f();
  } catch (const E& e) { return e.what(); }
  return "no such error";
}

TEST(DataLoader, SameBitsForAnyNumberOfWorkers) {
  auto run = [](int workers) {
    DataLoader loader(std::make_shared<Noisy>(50),
                      {.batch_size = 8, .shuffle = true, .num_workers = workers, .generator = std::make_shared<Generator>(3)});
    auto out = values(loader);
    for (auto& batch : values(loader)) out.push_back(batch);
    return out;
  };
  const auto expected = run(0);
  ASSERT_EQ(expected.size(), 14u);
  for (int workers : {1, 2, 3, 7}) EXPECT_EQ(run(workers), expected) << workers;
}

TEST(DataLoader, BatchesOfARange) {
  DataLoader loader(rows(10), {.batch_size = 4, .num_workers = 2, .drop_last = true});
  EXPECT_EQ(loader.size(), 2);
  int n = 0;
  for (const Value& batch : loader) {
    Tensor x = batch[0], y = batch[1];
    EXPECT_EQ(x.sizes(), IntList({4, 2}));
    EXPECT_EQ(y.to_vector()[0], 4 * n++);
    EXPECT_EQ(x.storage_offset(), 0);
  }
  EXPECT_EQ(n, 2);
  DataLoader stream(std::make_shared<Counted>(5), {.batch_size = 2, .num_workers = 3});
  EXPECT_EQ(values(stream), (std::vector<std::vector<double>>{{0, 1}, {2, 3}, {4}}));
  EXPECT_EQ(error_of<TypeError>([&] { stream.size(); }), "IterableDataset: it has no length");
}

TEST(DataLoader, WhatIsMadeIsChargedToData) {
  const int64_t before = memory_stats().live[size_t(Category::data)];
  DataLoader loader(std::make_shared<Noisy>(64), {.batch_size = 64, .num_workers = 1});
  auto epoch = loader.iter();
  Value batch = *epoch->next();
  EXPECT_GE(memory_stats().live[size_t(Category::data)] - before, 64 * 3 * 4);
}

TEST(DataLoader, ResumesInTheMiddleOfAnEpoch) {
  auto make = [](int workers) {
    return std::make_unique<DataLoader>(
        std::make_shared<Noisy>(30),
        DataLoaderOptions{
            .batch_size = 4, .shuffle = true, .num_workers = workers, .generator = std::make_shared<Generator>(1)});
  };
  auto loader = make(0);
  values(*loader);
  auto epoch = loader->iter();
  for (int i = 0; i < 5; ++i) epoch->next();
  const LoaderState state = loader->state_dict();
  std::vector<std::vector<double>> rest;
  while (auto batch = epoch->next()) rest.push_back(batch->tensor().to_vector());
  const auto following = values(*loader);
  for (int workers : {0, 3}) {
    auto other = make(workers);
    other->load_state_dict(state);
    EXPECT_EQ(values(*other), rest);
    EXPECT_EQ(values(*other), following);
  }
}

TEST(DataLoader, ErrorsNameTheSample) {
  struct Failing : Noisy {
    using Noisy::Noisy;
    Value get(int64_t i) override {
      if (i == 3) throw ValueError("a bad file");
      return Scalar(i);
    }
  };
  for (int workers : {0, 2}) {
    DataLoader loader(std::make_shared<Failing>(6), {.batch_size = 2, .num_workers = workers});
    auto epoch = loader.iter();
    EXPECT_EQ(epoch->next()->tensor().to_vector()[1], 1);
    EXPECT_EQ(error_of<ValueError>([&] { epoch->next(); }), "a bad file (sample 3 of the dataset)");
    EXPECT_EQ(epoch->next()->tensor().to_vector()[0], 4);
    EXPECT_FALSE(epoch->next());
    EXPECT_FALSE(epoch->next());
  }
}

TEST(DataLoader, ErrorsOfTheStandardLibraryNameTheSampleToo) {
  struct Failing : Noisy {
    using Noisy::Noisy;
    Value get(int64_t i) override { return Scalar(std::vector<int>(2).at(size_t(i))); }
  };
  DataLoader loader(std::make_shared<Failing>(3), {.batch_size = 3, .num_workers = 1});
  EXPECT_NE(error_of<Error>([&] { loader.iter()->next(); }).find("(sample 2 of the dataset)"), std::string::npos);
}

TEST(DataLoader, RefusesWhatCannotBe) {
  EXPECT_THROW(DataLoader(nullptr), ValueError);
  EXPECT_THROW(DataLoader(rows(4), {.num_workers = 100000}), ValueError);
  const auto data = rows(4);
  Subset part(data, {1, 2});
  EXPECT_THROW(part.get(2), IndexError);
  EXPECT_EQ(part.get(-1)[1].tensor().item(), 2);
  ConcatDataset both({data, data});
  EXPECT_THROW(both.get(8), IndexError);
  EXPECT_EQ(both.get(7)[1].tensor().item(), 3);
}

TEST(DataLoader, DroppedHalfWay) {
  struct Slow : Noisy {
    std::atomic<int> made{0};
    using Noisy::Noisy;
    Value get(int64_t i) override { return ++made, Scalar(i); }
  };
  auto slow = std::make_shared<Slow>(100000);
  for (bool persistent : {false, true}) {
    DataLoader loader(slow, {.batch_size = 4, .num_workers = 3, .persistent_workers = persistent});
    for (int i = 0; i < 50; ++i) loader.iter()->next();
  }
  EXPECT_LT(slow->made, 100 * 4 * 8);
  EXPECT_EQ(slow.use_count(), 1);  // no task is left
}

TEST(Workers, RunKernelsOnOneThreadAndStopFromWithin) {
  std::atomic<int> outside{0}, ran{0};
  {
    Workers workers(2);
    for (int i = 0; i < 20; ++i)
      workers.post([&](int) {
        const auto self = std::this_thread::get_id();
        parallel_for(1 << 20, 1, [&](int64_t, int64_t) { outside += std::this_thread::get_id() != self; });
        ran++;
      });
    while (ran < 20) std::this_thread::yield();
  }
  EXPECT_EQ(outside, 0);
  auto* workers = new Workers(1);
  std::atomic<bool> posted{false}, done{false};
  workers->post([&](int) {
    while (!posted) std::this_thread::yield();
    delete workers, done = true;
  });
  posted = true;
  while (!done) std::this_thread::yield();
}

TEST(Value, SaysWhatItIs) {
  Value v(Value::Named{{"x", zeros({2, 3})}, {"y", Value(Value::List{Scalar(3), Scalar(true), std::string("t"), Value()})}});
  EXPECT_EQ(v.str(), "{x: f32[2, 3], y: [3, true, \"t\", nothing]}");
  EXPECT_EQ(v["y"][0].number().integer(), 3);
  EXPECT_EQ(error_of<ValueError>([&] { v["z"]; }), "Value: there is no entry \"z\"; there are x, y");
  EXPECT_EQ(error_of<IndexError>([&] { v["y"][4]; }), "Value: there is no entry 4: it has 4: [3, true, \"t\", nothing]");
  EXPECT_EQ(error_of<TypeError>([&] { v["x"].number(); }), "Value: a number is wanted, here is f32[2, 3]");
}

TEST(Samplers, AreTheSameOnEveryInstructionSet) {
  auto list = [](auto&& sampler) {
    std::vector<int64_t> out;
    auto stream = sampler.iter();
    for (int64_t i; stream->next(i);) out.push_back(i);
    return out;
  };
  auto g = std::make_shared<Generator>(5);
  EXPECT_EQ(list(SubsetRandomSampler({10, 11, 12, 13, 14, 15}, g)), (std::vector<int64_t>{13, 15, 12, 10, 11, 14}));
  EXPECT_EQ(list(WeightedRandomSampler({1, 2, 3, 0, 5}, 8, true, g)), (std::vector<int64_t>{2, 4, 4, 4, 1, 2, 4, 2}));
}

TEST(Collate, Bad) {
  EXPECT_EQ(error_of<TypeError>([] { default_collate({Scalar(1), zeros({2})}); }),
            "default_collate: the samples of a batch differ: sample 0 is 1, sample 1 is f32[2]");
  EXPECT_EQ(error_of<ValueError>([] { default_collate({}); }), "default_collate: an empty batch");
  EXPECT_EQ(error_of<ValueError>([] { random_split(rows(4), IntList{3, 2}); }),
            "random_split: the lengths sum to 5, the dataset has 4 samples");
}

}  // namespace
}  // namespace dyadic::testing
