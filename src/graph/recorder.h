// Writes a run of a compiled function down as a Step, while the program runs.
#pragma once
#include <mutex>
#include <thread>
#include <unordered_map>

#include "dyadic/ops.h"
#include "graph/fed.h"
#include "graph/step.h"
#include "tensor/step_watcher.h"

namespace dyadic::inline v1::graph {

// What a compiled function was called with.
struct StepEntry {
  std::span<const Tensor> arguments;
  std::string_view key;  // everything else that it was called with
};
std::string entry_key(const StepEntry& entry);  // with the modes of this thread
// Modes in which steps run again; in others somebody wants to see each call.
bool may_replay();
ArgumentSeen seen(const Tensor& argument);

// Where in the program this thread is: a language's that has lines. Null: it is not known.
extern std::string (*g_where)();

// What the memory that a step's calls wrote held after each of them, and what parts left and numbers were: of a run that is
// checked.
struct StepTrace {
  std::vector<std::vector<uint64_t>> hashes;                                // by instruction and slot that it writes
  std::unordered_map<int, std::vector<std::pair<int, std::string>>> parts;  // by instruction: slots and their bytes
};
uint64_t hash_of(const void* at, int64_t bytes);

class Recorder final : public StepWatcher {
 public:
  // whole: it makes a Step; strict: a value that is read is an Error.
  Recorder(const StepEntry& entry, bool whole, bool strict, StepTrace* trace = nullptr);
  ~Recorder() override;
  // The run has ended with these results; `holders`: who holds each of them, 0: it is not known.
  std::shared_ptr<Step> finish(std::span<const Tensor> results, int holders);

  void born(const Storage& s) override;
  void died(const Storage& s) override;
  void runs(const Call& c, const Pointers& at) override;
  void writes(const char* name, std::string key, std::unique_ptr<Plan> plan, const Tensor& out) override;
  void checks(const char* name, std::string key, std::shared_ptr<const Plan> plan, std::span<const Tensor> read) override;
  void number(const char* name, const double* from, const Tensor& out) override;
  void reads(const TensorImpl& t) override;
  void refuses(const std::string& why) override;
  void leaf(TensorImpl& t) override;
  void gave(TensorImpl& leaf) override;
  void module(void* m) override;
  void begins(const char* name, std::string key, std::function<void()> again) override;
  void ends() override;
  // A value of the window's: `storage` null: a number of `bytes`.
  struct FusedOperand {
    Storage* storage = nullptr;
    const char* at = nullptr;
    int64_t offset = 0, bytes = 0;  // in bytes; of a number
    bool computed = false;
  };
  void fused(std::shared_ptr<const FusedPlan> plan, const std::string& text, std::span<const FusedOperand> values);
  // The same with the call that it is fed to.
  void fed(const std::shared_ptr<const FusedPlan>& plan, const std::string& text, std::span<const FusedOperand> values,
           const Call& c, const Pointers& at, const Feed& feed);

 private:
  // What is known of a storage: its slot; or it was made here and no call has seen it; or it was leaf k's .grad, kGradient - k.
  static constexpr int kUnseen = -1, kUnknown = -2, kGradient = -3;
  int known(const Storage* s);
  void know(const Storage* s, int what);
  bool stopped() const { return paused_ || !step_->refused.empty(); }
  struct Use {
    bool reads, writes, whole;  // whole: all of the storage is written
  };
  Place place(Storage* s, const void* at, int64_t offset, Use use, const char* who);
  Place place(const TensorImpl& t, const void* at, Use use, const char* who);
  Place number(const void* at, int64_t bytes);
  int argument_of(const Storage* s, const char* at) const;
  int make_slot(Storage* s, void* data, int was, bool reads, const char* who);
  Slot& touch(int slot);
  void trace_writes();  // of the last instruction
  void trace_part();
  std::pair<const char*, int64_t> memory(const Storage* s, int slot) const;
  Instruction& add(const char* name);
  void add_values(const std::string& text, std::span<const FusedOperand> values);
  void add_places(const Call& c, const Pointers& at);
  void leaves(const TensorImpl& t, Layout& layout);
  void finish_results(std::span<const Tensor> results);
  bool finish_old(const Tensor& t, StepResult& r);
  void finish_versions();
  void finish_modules();
  void check_held(std::span<const Tensor> results, int holders);

  std::shared_ptr<Step> step_ = std::make_shared<Step>();
  const std::thread::id thread_;
  const bool whole_, strict_;
  StepTrace* const trace_;
  bool paused_ = false;
  std::vector<Tensor> arguments_;
  std::mutex mutex_;  // of known_
  std::unordered_map<const Storage*, int> known_;
  std::unordered_map<const TensorImpl*, int> leaves_;
  std::vector<std::pair<const Storage*, uint32_t>> versions_;  // by slot: when it was seen first, and what parts have added
  const TensorImpl* gradient_before_ = nullptr;
  std::vector<std::pair<int, uint32_t>> before_part_;
  GeneratorState drawn_;
  uint64_t drawn_before_part_ = 0;
};

}  // namespace dyadic::inline v1::graph
