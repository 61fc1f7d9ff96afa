// What surrounds a training loop: checkpoints of a whole run, early stopping, the history of its metrics.
//
//   dy::train::Checkpoint run("runs/digits", {.keep = 3, .best = "val_loss", .background = true});
//   run.add("model", model).add("optimizer", optimizer).add("schedule", schedule).add("data", loader).add("history", history);
//   run.config(R"({"lr": 0.001})");
//   auto resumed = run.resume();
//   for (int64_t step = resumed ? resumed->step : 0; step < steps;) {
//     ... ++step;
//     if (step % 100 == 0) run.save(step, {{"val_loss", loss}});
//   }
//   run.wait();
//
// Everything is saved under its name and found by it. The state of the default generator is always part of it.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dyadic/data.h"
#include "dyadic/error.h"
#include "dyadic/io.h"
#include "dyadic/lr_scheduler.h"
#include "dyadic/nn.h"
#include "dyadic/optim.h"

namespace dyadic::inline v1::train {

using Metrics = std::map<std::string, double>;

// One thing in which a saved run and this one differ.
struct Difference {
  enum class Kind : uint8_t { missing, unexpected, changed };  // missing: here, not saved; unexpected: saved, not here
  Kind kind = Kind::changed;
  std::string part, name;   // "model", "fc1.weight"; "the run" and a part's name
  std::string there, here;  // what is saved, what is here: "f32[3, 4]", "0.001"
  std::string nearest;      // a name that may have been meant; may be empty
  std::string str() const;  // model: missing fc1.bias (f32[3] here; nearest there: fc1.b)
};
using Differences = std::vector<Difference>;
std::string describe(const Differences& differences);  // a line each

// What a strict load throws: what() has a line for each difference.
class DifferentRun : public ValueError {
 public:
  Differences differences;
  DifferentRun(const std::string& text, Differences all) : ValueError(text), differences(std::move(all)) {}
};

// What a part of a run is saved as: tensors by name, and a JSON value.
struct State {
  nn::NamedTensors tensors;
  std::string json = "null";
};

// Something that a run consists of. For classes of one's own; the library's are known to Checkpoint::add.
class Part {
 public:
  virtual ~Part();
  virtual State state() = 0;  // may share memory with what it describes
  // Adds what load() could not take over. By default: names, shapes and dtypes of tensors.
  virtual void compare(const std::string& part, const State& saved, Differences& differences);
  virtual void load(const State& saved) = 0;  // what fits, without a word about the rest
};

struct CheckpointOptions {
  std::string name = "checkpoint";
  int keep = 3;             // the newest so many
  std::string best = {};    // a metric given to save: the checkpoint where it is smallest is kept as well
  bool maximize = false;    // ... where it is largest
  int64_t shard_bytes = 0;  // more tensor bytes than that go into several files; 0: always one
  bool background = false;  // save() copies what is saved, and a thread writes while training goes on
};

class History;
class EarlyStopping;

class Checkpoint {
 public:
  // The folder need not be there.
  explicit Checkpoint(std::string folder, CheckpointOptions options = {});
  ~Checkpoint();  // waits; an error that nobody has seen becomes a warning
  Checkpoint(const Checkpoint&) = delete;

  // What is added must outlive the Checkpoint. Names are unique and have no dot. An optimizer's states go by the names that an
  // added module has for its parameters, whatever the optimizer calls them.
  Checkpoint& add(const std::string& name, nn::Module& module);
  Checkpoint& add(const std::string& name, optim::Optimizer& optimizer);
  Checkpoint& add(const std::string& name, optim::GradScaler& scaler);
  Checkpoint& add(const std::string& name, optim::Schedule& schedule);
  Checkpoint& add(const std::string& name, data::DataLoader& loader);
  Checkpoint& add(const std::string& name, Generator& generator);
  Checkpoint& add(const std::string& name, History& history);
  Checkpoint& add(const std::string& name, EarlyStopping& stopping);
  Checkpoint& add(const std::string& name, int64_t& number);
  Checkpoint& add(const std::string& name, double& number);
  Checkpoint& add(const std::string& name, std::unique_ptr<Part> part);
  // The name of a parameter's states in the run, by the optimizer's name for the parameter.
  std::map<std::string, std::string> names_of(const optim::Optimizer& optimizer) const;
  // A JSON object of settings. It is saved and compared, never changed: a run resumed under another one is another run.
  void config(std::string json);

  // A checkpoint of the run after `step` steps; the metrics choose the best. In the background: what is saved is copied now
  // (the ledger counts it, as workspace of "checkpoint"), and what went wrong with the last one is thrown here.
  void save(int64_t step, const Metrics& metrics = {});
  void wait();  // until the last save is on the disk; throws what went wrong with it

  struct Resumed {
    std::string path;
    int64_t step = 0;
    Metrics metrics;
    Differences differences;  // with strict: none
  };
  // From the newest complete checkpoint; a damaged one is passed over with a warning. Nothing when there is none. strict: a
  // difference is a DifferentRun that lists all of them, and nothing is changed; otherwise what fits is loaded.
  std::optional<Resumed> resume(bool strict = true);
  Resumed load(const std::string& path, bool strict = true);
  std::optional<Resumed> load_best(bool strict = true);
  const io::CheckpointFolder& folder() const { return folder_; }

  // As one file of any name.
  void save_file(const std::string& path, int64_t step, const Metrics& metrics = {});

 private:
  class Writer;
  io::Checkpoint gather(int64_t step, const Metrics& metrics, bool copy);
  Resumed take(io::Checkpoint saved, const std::string& path, bool strict);
  io::CheckpointFolder folder_;
  CheckpointOptions options_;
  std::vector<std::pair<std::string, std::unique_ptr<Part>>> parts_;
  std::vector<std::pair<std::string, nn::Module*>> modules_;
  std::string config_ = "{}";
  std::unique_ptr<Writer> writer_;
};

// Batches whose gradients make one step. The weights sum to 1: a batch's share of their samples, by which its mean loss is
// multiplied before backward(), so that the step is that of one large batch. An epoch's last window has what is left.
//   auto epoch = loader.iter();
//   while (auto window = dy::train::next_window(*epoch, 4)) {
//     for (auto& [weight, batch] : *window) (loss(batch) * weight).backward();
//     optimizer.step(), optimizer.zero_grad();
//   }
using Window = std::vector<std::pair<double, data::Value>>;
std::optional<Window> next_window(data::Epoch& epoch, int64_t length);

struct EarlyStoppingOptions {
  int64_t patience = 5;  // updates without an improvement
  double min_delta = 0;  // what is less is none
  bool maximize = false;
};
// Whether it is time to stop: when a metric has not improved for `patience` updates. A metric that is NaN is no improvement.
class EarlyStopping {
 public:
  // With a module: its best state is kept (a copy), and restored by the update that says stop.
  explicit EarlyStopping(EarlyStoppingOptions options = {}, nn::Module* restore_best = nullptr);
  bool update(double metric);
  bool stopped() const { return bad_ >= o_.patience; }
  std::optional<double> best() const { return best_; }
  int64_t updates() const { return updates_; }
  int64_t best_update() const { return best_update_; }  // counted from 0
  void restore();                                       // the module becomes what it was at its best
  State state() const;
  void load(const State& state);

 private:
  EarlyStoppingOptions o_;
  nn::Module* module_;
  std::optional<double> best_;
  int64_t bad_ = 0, updates_ = 0, best_update_ = -1;
  nn::NamedTensors kept_;
};

// TensorBoard's event file, <folder>/events.out.tfevents.*: scalars and texts by tag and step.
class EventFile {
  int fd_ = -1;
  std::string path_;
  void record(std::string_view event);

 public:
  explicit EventFile(const std::string& folder);  // makes the folder
  ~EventFile();
  EventFile(const EventFile&) = delete;
  void scalar(std::string_view tag, double value, int64_t step);
  void text(std::string_view tag, std::string_view text, int64_t step);
  void restart(int64_t step);  // what earlier files say of `step` and later no longer counts
  void sync();
  const std::string& path() const { return path_; }
};

struct HistoryOptions {
  std::string csv = {};          // a file; none: only in memory
  std::string tensorboard = {};  // a folder
};
// Metrics by step, in memory and as they come in a CSV file and for TensorBoard. A run that goes on from a checkpoint drops the
// rows after it: the file has each step once, however often the run was killed.
class History {
 public:
  struct Row {
    int64_t step = 0;
    Metrics values;
  };
  explicit History(HistoryOptions options = {});  // reads the CSV file that is there
  ~History();
  History(const History&) = delete;
  // Adds a row, or adds to the last one if it is of this step and of this process. Rows from `step` on that an earlier process
  // left go. ValueError for a step before the last.
  void log(int64_t step, const Metrics& values);
  void text(std::string_view tag, std::string_view text, int64_t step);  // for TensorBoard alone
  const std::vector<Row>& rows() const { return rows_; }
  std::vector<std::pair<int64_t, double>> column(std::string_view name) const;
  void sync();  // on the disk
  State state() const;
  void load(const State& state);

 private:
  void open();
  void read();
  void cut(size_t rows);
  std::string line(const Row& row) const;
  void flush();
  void write_all();
  void rewrite_last();
  HistoryOptions o_;
  std::vector<std::string> columns_;
  std::vector<Row> rows_;
  std::vector<int64_t> offsets_;  // of the rows that are in the file
  int64_t header_ = 0, end_ = 0;  // bytes of the file's first line; of the file
  size_t own_ = 0;                // rows before it are of an earlier process
  int fd_ = -1;
  std::unique_ptr<EventFile> events_;
};

}  // namespace dyadic::inline v1::train
