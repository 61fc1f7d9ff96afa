// The loader: in which order batches are made and handed out, and where it stands.
#include <chrono>
#include <deque>
#include <latch>

#include "base/check.h"
#include "base/workers.h"
#include "data/permutation.h"
#include "data/work.h"

namespace dyadic::inline v1::data {

// Where an epoch began, and how far its caller is.
struct DataLoader::Position {
  bool begun = false;
  GeneratorState order{}, batches_draw{};  // the sampler's generator and the loader's, before the epoch drew from them
  int64_t batches = 0;
};

// Worker threads. All have begun when it is made; what the first of them threw is thrown here.
struct DataLoader::Crew {
  std::latch begun;
  std::vector<std::exception_ptr> errors;
  Workers workers;
  Crew(int count, const Work& work)
      : begun(count), errors(size_t(count)), workers(count, [this, &work](int worker) { begin(work, worker); }) {
    begun.wait();
    for (std::exception_ptr& e : errors)
      if (e) std::rethrow_exception(std::exchange(e, nullptr));
  }

 private:
  void begin(const Work& work, int worker) {
    try {
      work.begin_worker(worker);
    } catch (...) { errors[size_t(worker)] = std::current_exception(); }
    begun.count_down();
  }
};

struct Epoch::State {
  std::shared_ptr<Work> work;
  std::shared_ptr<DataLoader::Crew> crew;  // null: batches are made here
  std::unique_ptr<BatchStream> indices;    // null: an IterableDataset
  std::shared_ptr<DataLoader::Position> position;
  std::optional<std::vector<int64_t>> peeked;
  std::deque<std::shared_ptr<Slot>> pending;
  size_t ahead = 1;
  int64_t number = 0;
  bool exhausted = false;
  double timeout = 0;

  void skip(int64_t batches);  // and looks at the next one: a sampler may draw as late as for its first index
  bool next_indices(std::vector<int64_t>& out);
  void fill();
  void wait(Slot& slot, const Callback<void()>& poll);
};

namespace {

GeneratorState state_of(const Generators& g) { return g ? g->state() : generator_state(); }
void set_state(const Generators& g, GeneratorState s) { g ? g->set_state(s) : set_generator_state(s); }

// Each index a batch of its own: for samples that are not batched.
class Singly : public BatchStream {
  std::unique_ptr<IndexStream> indices_;

 public:
  explicit Singly(std::unique_ptr<IndexStream> indices) : indices_(std::move(indices)) {}
  bool next(std::vector<int64_t>& out) override {
    out.resize(1);
    return indices_->next(out[0]);
  }
};

constexpr int kMostWorkers = 4096;  // as many as threads

void check(const DataLoaderOptions& o, bool iterable) {
  DY_CHECK_AS(ValueError, o.num_workers >= 0, "DataLoader: num_workers is negative: {}; 0 makes batches in the caller's thread",
              o.num_workers);
  DY_CHECK_AS(ValueError, o.num_workers <= kMostWorkers,
              "DataLoader: more than {} workers: num_workers is {}; the number of cores is the useful limit", kMostWorkers,
              o.num_workers);
  DY_CHECK_AS(ValueError, o.timeout >= 0, "DataLoader: the timeout is negative: {}", o.timeout);
  DY_CHECK_AS(ValueError, o.num_workers > 0 || !o.prefetch_factor,
              "DataLoader: prefetch_factor is given, but there are no workers to prefetch; set num_workers");
  DY_CHECK_AS(ValueError, o.prefetch_factor.value_or(2) > 0, "DataLoader: prefetch_factor is not positive: {}",
              *o.prefetch_factor);
  DY_CHECK_AS(ValueError, o.num_workers > 0 || !o.persistent_workers,
              "DataLoader: persistent_workers are asked for, but num_workers is 0");
  DY_CHECK_AS(ValueError, !iterable || (!o.shuffle && !o.sampler && !o.batch_sampler),
              "DataLoader: an IterableDataset comes in its own order: shuffle, sampler and batch_sampler do not apply");
  DY_CHECK_AS(ValueError, !o.sampler || !o.shuffle, "DataLoader: sampler and shuffle exclude each other");
  DY_CHECK_AS(ValueError, !o.batch_sampler || (o.batch_size == 1 && !o.shuffle && !o.sampler && !o.drop_last),
              "DataLoader: batch_sampler excludes batch_size, shuffle, sampler and drop_last");
  DY_CHECK_AS(ValueError, o.batch_size || !o.drop_last, "DataLoader: drop_last needs a batch_size");
  DY_CHECK_AS(ValueError, o.batch_size.value_or(1) > 0, "DataLoader: batch_size is not positive: {}", *o.batch_size);
}

}  // namespace

DataLoader::DataLoader(std::shared_ptr<Dataset> dataset, DataLoaderOptions options)
    : dataset_(std::move(dataset)),
      iterable_(dynamic_cast<IterableDataset*>(dataset_.get())),
      options_(std::move(options)),
      sampler_(options_.sampler),
      batch_sampler_(options_.batch_sampler),
      position_(std::make_shared<Position>()) {
  DY_CHECK_AS(ValueError, dataset_, "DataLoader: there is no dataset: the pointer is null");
  check(options_, iterable_);
  if (!options_.collate_fn) {
    if (options_.batch_size)
      options_.collate_fn = default_collate;
    else
      options_.collate_fn = [](std::vector<Value> one) { return default_convert(std::move(one[0])); };
  }
  if (iterable_ || batch_sampler_) return;
  if (!sampler_ && options_.shuffle)
    sampler_ = std::make_shared<RandomSampler>(dataset_, false, std::nullopt, options_.generator);
  if (!sampler_) sampler_ = std::make_shared<SequentialSampler>(dataset_->size());
  if (options_.batch_size) batch_sampler_ = std::make_shared<BatchSampler>(sampler_, *options_.batch_size, options_.drop_last);
}
DataLoader::~DataLoader() = default;

int64_t DataLoader::size() const {
  if (batch_sampler_) return batch_sampler_->size();
  if (!iterable_) return sampler_->size();
  const int64_t n = dataset_->size(), b = options_.batch_size.value_or(1);
  return options_.drop_last ? n / b : (n + b - 1) / b;
}

Generators DataLoader::order_generator() const {
  return batch_sampler_ ? batch_sampler_->generator() : sampler_ ? sampler_->generator() : options_.generator;
}

std::unique_ptr<Epoch> DataLoader::iter() {
  const Generators order = order_generator();
  const bool resumed = resume_.has_value();
  const GeneratorState now = generator_state();
  auto work = std::make_shared<Work>();
  if (resumed) {
    LoaderState& r = *resume_;
    work->first = int64_t(r["batches"]);
    set_state(order, {r["order_seed"], r["order_calls"]});
    if (order != options_.generator) set_state(options_.generator, {r["seed"], r["calls"]});
    resume_.reset();
  }
  position_ = std::make_shared<Position>(Position{true, state_of(order), state_of(options_.generator), work->first});
  work->dataset = dataset_, work->iterable = iterable_;
  work->collate = options_.collate_fn, work->init = options_.worker_init_fn;
  work->batch_size = options_.batch_size, work->drop_last = options_.drop_last;
  work->num_workers = options_.num_workers;
  work->draw = draw_from(options_.generator);

  auto state = std::make_unique<Epoch::State>();
  if (batch_sampler_)
    state->indices = batch_sampler_->iter();
  else if (sampler_)
    state->indices = std::make_unique<Singly>(sampler_->iter());
  if (resumed) {
    state->skip(work->first);
    set_generator_state(now);
  }
  state->work = std::move(work), state->position = position_, state->number = state->work->first;
  state->timeout = options_.timeout;
  if (options_.num_workers) {
    if (!crew_ || crew_->workers.stopped() || !options_.persistent_workers)
      crew_ = std::make_shared<Crew>(options_.num_workers, *state->work);
    state->crew = crew_;
    if (!options_.persistent_workers) crew_.reset();
    state->ahead = size_t(options_.num_workers * options_.prefetch_factor.value_or(2));
  }
  return std::make_unique<Epoch>(std::move(state));
}

LoaderState DataLoader::state_dict() const {
  if (resume_) return *resume_;
  Position p = *position_;
  if (!p.begun) { p.order = state_of(order_generator()), p.batches_draw = state_of(options_.generator); }
  return {{"begun", p.begun},
          {"batches", uint64_t(p.batches)},
          {"order_seed", p.order.seed},
          {"order_calls", p.order.calls},
          {"seed", p.batches_draw.seed},
          {"calls", p.batches_draw.calls}};
}

void DataLoader::load_state_dict(const LoaderState& state) {
  auto get = [&](const char* key) {
    auto at = state.find(key);
    DY_CHECK_AS(ValueError, at != state.end(), "DataLoader: the state has no \"{}\"; it is not a loader's", key);
    return at->second;
  };
  const GeneratorState order{get("order_seed"), get("order_calls")}, draw{get("seed"), get("calls")};
  get("batches");
  position_ = std::make_shared<Position>();
  resume_.reset();
  if (get("begun")) {
    resume_ = state;
    return;
  }
  // Between two epochs: what the next one draws from. The default generator is the caller's affair.
  const Generators own = order_generator();
  if (own) own->set_state(order);
  if (options_.generator && options_.generator != own) options_.generator->set_state(draw);
}

void Epoch::State::skip(int64_t batches) {
  std::vector<int64_t> next;
  for (int64_t i = 0; i <= batches && indices && !exhausted; ++i) exhausted = !indices->next(next);
  if (indices && !exhausted) peeked = std::move(next);
}

bool Epoch::State::next_indices(std::vector<int64_t>& out) {
  if (exhausted) return false;
  if (peeked) {
    out = std::move(*peeked);
    peeked.reset();
    return true;
  }
  if (indices && !indices->next(out)) exhausted = true;
  return !exhausted;
}

void Epoch::State::fill() {
  std::vector<int64_t> next;
  while (pending.size() < ahead && next_indices(next)) {
    auto slot = std::make_shared<Slot>();
    pending.push_back(slot);
    const int64_t n = number++;
    if (!crew)
      work->make(n, next, *slot);
    else
      crew->workers.post([work = work, n, next, slot](int worker) { work->make_in_worker(worker, n, next, *slot); });
  }
}

void Epoch::State::wait(Slot& slot, const Callback<void()>& poll) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  for (;;) {
    {
      std::unique_lock lock(slot.mutex);
      if (slot.ready.wait_for(lock, std::chrono::milliseconds(50), [&] { return slot.done; })) return;
    }
    DY_CHECK(!crew->workers.stopped(), "DataLoader: its workers are gone: the program ends, or it has forked");
    if (timeout > 0 && std::chrono::duration<double>(Clock::now() - begin).count() > timeout)
      fail("DataLoader: no batch came within the timeout of {} s", timeout);
    if (poll) poll();
  }
}

Epoch::Epoch(std::unique_ptr<State> state) : state_(std::move(state)) {}
Epoch::~Epoch() { state_->work->cancel(); }

std::optional<Value> Epoch::next(const Callback<void()>& poll) {
  State& s = *state_;
  s.fill();
  if (s.pending.empty()) {
    *s.position = {};
    return {};
  }
  Slot& first = *s.pending.front();
  if (s.crew) s.wait(first, poll);
  const std::shared_ptr<Slot> slot = std::move(s.pending.front());
  s.pending.pop_front();
  if (slot->end) {
    s.exhausted = true;
    s.work->cancel();
    *s.position = {};
    return {};
  }
  s.position->batches++;
  if (slot->error) std::rethrow_exception(std::exchange(slot->error, nullptr));  // its last owner is this thread
  if (s.crew) s.fill();
  return std::move(slot->value);
}

}  // namespace dyadic::inline v1::data
