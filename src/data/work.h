// One epoch's work: how a batch is made, by whichever thread.
//
// Note [Batches of an epoch]: the caller's thread takes the indices of a batch from the sampler and numbers it; a worker makes
// it. All random numbers drawn meanwhile belong to a generator made from the epoch's draw and the batch's number, so that they
// are the same whoever makes the batch. An IterableDataset is read by the workers in turns, in the order of the numbers.
#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>

#include "dyadic/data.h"

namespace dyadic::inline v1::data {

struct Slot {  // where a batch arrives
  std::mutex mutex;
  std::condition_variable ready;
  bool done = false, end = false;  // end: there is no such batch
  Value value;
  std::exception_ptr error;
  void finish();
};

struct Work {
  std::shared_ptr<Dataset> dataset;
  IterableDataset* iterable = nullptr;  // the same, if it is one
  Callback<Value(std::vector<Value>)> collate;
  Callback<void(int)> init;
  std::optional<int64_t> batch_size;
  bool drop_last = false;
  int num_workers = 0;
  GeneratorState draw{};
  int64_t first = 0;  // the number of the first batch: not 0 after a resumption
  std::atomic<bool> stop{false};

  void make(int64_t number, const std::vector<int64_t>& indices, Slot& slot);
  // What a worker does before all else: init. For an IterableDataset, which knows of one worker, the first one alone.
  void begin_worker(int worker) const;
  void make_in_worker(int worker, int64_t number, const std::vector<int64_t>& indices, Slot& slot);
  void cancel();
  uint64_t seed() const;  // PyTorch's base seed

 private:
  // Of an IterableDataset: the samples, and whose turn it is.
  std::mutex mutex_;
  std::condition_variable turned_;
  int64_t turn_ = -1;
  std::unique_ptr<ValueStream> stream_;
  bool ended_ = false;

  uint64_t seed(int64_t number) const;
  std::vector<Value> read_some(int64_t number);
  std::optional<std::vector<Value>> read_in_turn(int64_t number);
};

}  // namespace dyadic::inline v1::data
