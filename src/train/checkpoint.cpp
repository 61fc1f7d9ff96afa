// A run's checkpoint: its parts into a file and back; written now or by a thread.
#include <condition_variable>
#include <exception>
#include <mutex>

#include "base/json.h"
#include "base/log.h"
#include "base/parallel.h"
#include "base/workers.h"
#include "device/allocator.h"
#include "loops/gemm_bf16.h"
#include "tensor/impl.h"
#include "train/difference.h"
#include "train/json.h"
#include "train/parts.h"

namespace dyadic::inline v1::train {
namespace {

constexpr int kVersion = 1;

// What runs while it lives is charged to "checkpoint".
class Charge {
  uint32_t before_ = t_module;
  CategoryScope category_{Category::workspace};

 public:
  Charge() { t_module = intern_module("checkpoint"); }
  ~Charge() { t_module = before_; }
  Charge(const Charge&) = delete;
};

// Copies of tensors; of those that share memory, one.
class Copies {
  std::vector<std::pair<Tensor, Tensor>> made_;
  std::map<std::pair<Storage*, int64_t>, size_t> by_place_;

 public:
  Tensor of(const Tensor& t) {
    if (!t.defined()) return t;
    const TensorImpl& i = *t.impl();
    const auto place = std::pair(i.storage, i.offset);
    if (auto at = by_place_.find(place); at != by_place_.end()) {
      auto& [original, copy] = made_[at->second];
      if (original.sizes() == t.sizes() && original.strides() == t.strides()) return copy;
    }
    by_place_[place] = made_.size();
    made_.emplace_back(t, t.clone());
    return made_.back().second;
  }
};

// What bits depend on beside the inputs.
std::string instructions() {
  constexpr const char* kBf16[] = {"decoded", "by dot products", "by tiles"};
  return fmt::format("{} with bf16 products {}", isa_name(), kBf16[int(bf16_path())]);
}
void compare_instructions(const std::string& there, const std::string& path) {
  if (!there.empty() && there != instructions())
    warn(
        fmt::format("checkpoint {}: written on {}, here are {}: the run goes on, but may get other bits; DYADIC_ISA and "
                    "DYADIC_BF16 choose instructions that both machines have",
                    path, there, instructions()));
}

io::CheckpointFolderOptions folder_options(const CheckpointOptions& o) {
  return {o.name, o.keep, o.best, o.maximize, o.shard_bytes};
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> names;
  for (auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

}  // namespace

// One checkpoint at a time, written by a thread.
class Checkpoint::Writer {
  std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false;
  std::exception_ptr error_;
  Workers workers_{1};

  // Lives until the file is written, or until it is clear that it will not be: the process ends.
  struct Job {
    Writer& writer;
    io::Checkpoint content;
    bool written = false;
    explicit Job(Writer& w, io::Checkpoint c) : writer(w), content(std::move(c)) {}
    ~Job() {
      content = {};  // its memory is free before the wait ends
      std::lock_guard lock(writer.mutex_);
      if (!written && !writer.error_)
        writer.error_ = std::make_exception_ptr(Error("checkpoint: the process ended before the last one was written"));
      writer.busy_ = false;
      writer.changed_.notify_all();
    }
  };

 public:
  void write(io::Checkpoint content, const io::CheckpointFolder& folder, int64_t step) {
    {
      std::lock_guard lock(mutex_);
      busy_ = true;
    }
    auto job = std::make_shared<Job>(*this, std::move(content));
    workers_.post([job, &folder, step](int) {
      try {
        folder.save(job->content, step);
        job->written = true;
      } catch (...) {
        std::lock_guard lock(job->writer.mutex_);
        job->writer.error_ = std::current_exception();
      }
    });
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !busy_; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }
};

Checkpoint::Checkpoint(std::string folder, CheckpointOptions options)
    : folder_(std::move(folder), folder_options(options)), options_(std::move(options)) {}

Checkpoint::~Checkpoint() {
  try {
    wait();
  } catch (const std::exception& e) { warn_in_destructor(e.what()); }
}

Checkpoint& Checkpoint::add(const std::string& name, std::unique_ptr<Part> part) {
  DY_CHECK_AS(ValueError, !name.empty() && name.find('.') == name.npos,
              "checkpoint: a part's name has no dot and is not empty: it is \"{}\"", name);
  for (auto& [known, p] : parts_) DY_CHECK_AS(ValueError, known != name, "checkpoint: two parts are called \"{}\"", name);
  parts_.emplace_back(name, std::move(part));
  return *this;
}

void Checkpoint::config(std::string json) {
  const Json j = bounded_json(json, 64);
  DY_CHECK_AS(ValueError, j.is_object(), "checkpoint: the config is not a JSON object: it begins {}", json.substr(0, 40));
  config_ = std::move(json);
}

io::Checkpoint Checkpoint::gather(int64_t step, const Metrics& metrics, bool copy) {
  NoGrad guard;
  Charge charge;
  Copies copies;
  io::Checkpoint out;
  const GeneratorState random = generator_state();
  Json document = {{"run", kVersion},
                   {"step", step},
                   {"metrics", metrics_json(metrics)},
                   {"config", parse_json(config_)},
                   {"instructions", instructions()},
                   {"generator", {{"seed", random.seed}, {"calls", random.calls}}},
                   {"parts", Json::object()}};
  for (auto& [name, part] : parts_) {
    State s = part->state();
    if (copy)
      for (auto& [key, t] : s.tensors) t = copies.of(t);
    document["parts"][name] = parse_json(s.json);
    out.set(name, s.tensors);
  }
  out.json = dump_json(document);
  return out;
}

void Checkpoint::save(int64_t step, const Metrics& metrics) {
  DY_CHECK_AS(ValueError, step >= 0, "checkpoint: the step is negative: step is {}", step);
  wait();
  if (!options_.background) {
    folder_.save(gather(step, metrics, false), step);
    return;
  }
  if (!writer_) writer_ = std::make_unique<Writer>();
  writer_->write(gather(step, metrics, true), folder_, step);
}

void Checkpoint::save_file(const std::string& path, int64_t step, const Metrics& metrics) {
  gather(step, metrics, false).save(path, options_.shard_bytes);
}

void Checkpoint::wait() {
  if (writer_) writer_->wait();
}

std::optional<Checkpoint::Resumed> Checkpoint::resume(bool strict) {
  wait();
  auto found = folder_.latest();
  if (!found) return std::nullopt;
  return take(std::move(found->checkpoint), found->path, strict);
}
Checkpoint::Resumed Checkpoint::load(const std::string& path, bool strict) {
  wait();
  return take(io::Checkpoint::load(path), path, strict);
}
std::optional<Checkpoint::Resumed> Checkpoint::load_best(bool strict) {
  wait();
  const auto found = folder_.best();
  if (!found) return std::nullopt;
  return load(found->path, strict);
}

Checkpoint::Resumed Checkpoint::take(io::Checkpoint saved, const std::string& path, bool strict) try {
  const Json document = parse_json(saved.json);
  DY_CHECK_AS(ValueError, document.contains("run") && document["run"].is_number_integer(),
              "checkpoint {}: not a training run's; delete it or pass another", path);
  DY_CHECK_AS(ValueError, document["run"] <= kVersion,
              "checkpoint {}: of version {}, newer than this program's {}; update dyadic", path, dump_json(document["run"]),
              kVersion);
  const Json& theirs = document.at("parts");
  Resumed r{path, document.at("step").get<int64_t>(), metrics_of(document.at("metrics")), {}};
  std::vector<std::pair<Part*, State>> states;
  Described there, here;
  for (const std::string& name : keys_of(theirs)) there.emplace_back(name, "");
  for (auto& [name, part] : parts_) {
    here.emplace_back(name, "");
    if (!theirs.contains(name)) continue;
    State s{saved.has(name) ? saved.get(name) : nn::NamedTensors(), dump_json(theirs[name])};
    part->compare(name, s, r.differences);
    states.emplace_back(part.get(), std::move(s));
  }
  compare_names("the run", there, here, r.differences);
  compare_documents("config", dump_json(document.at("config")), config_, r.differences);
  if (strict && !r.differences.empty())
    throw DifferentRun(
        fmt::format(
            "checkpoint {}: of another run:\n{}\nmake the run what it was, pass another, or load what fits with strict=false",
            path, describe(r.differences)),
        r.differences);
  compare_instructions(document.value("instructions", ""), path);
  for (auto& [part, state] : states) part->load(state);
  const Json& random = document.at("generator");
  set_generator_state({random.at("seed").get<uint64_t>(), random.at("calls").get<uint64_t>()});
  return r;
} catch (const Json::exception& e) {
  fail<ValueError>("checkpoint {}: its document is incomplete ({}); delete it or pass another", path, e.what());
}

}  // namespace dyadic::inline v1::train
