// The calls that a thread has put off and not computed yet.
#pragma once
#include <atomic>

#include "graph/recorder.h"
#include "graph/recording.h"

namespace dyadic::inline v1::graph {

class Window {
 public:
  ~Window();
  // Begins and ends a run of a compiled function. False: this one runs eagerly, as it may where it would put nothing off.
  bool open(const std::shared_ptr<Recording>& recording, bool may_rest);
  void close();
  bool is_open() const { return recording_ != nullptr; }
  bool defer(const Invocation& v, const OpDef& op);
  bool defer_in_place(const Invocation& v, const OpDef& op);
  void watch(Recorder* recorder) { recorder_ = recorder; }  // hears of what runs in one pass; null: nobody does
  void settle();                                            // computes what is held; OutOfMemoryError, and all stays as it was
  // Runs a planned call band by band with what is put off that it reads. False: it has to run by itself.
  bool feed(const Call& c, void* workspace);

 private:
  struct Outside {
    Storage* storage;  // strong up to outside_; null: a number, which is `number`
    char* at;
    alignas(16) char number[16];
    int64_t offset, numel;
    uint32_t repeated;
    const Format* format;
    int ndim;
    int64_t sizes[kMaxDims];
  };
  const char* read(const Invocation& v, const Kind& kind, Input* in);
  int result_of(const TensorImpl& t) const;
  int find(const Input& in);
  bool put_off(const Invocation& v, const Kind& kind, Tensor* result);
  bool reads_parts_of(const TensorImpl& t) const;
  void commit(Recorded& call, Storage* s, char* written);
  void commit_fresh(Recorded& call, Tensor& result);
  void commit_in_place(Recorded& call, Storage* s);
  void let_pass(const Invocation& v);
  void might_feed(const Call& c);
  void run();
  uint64_t held() const;
  void allocate(uint64_t held, char** memory);
  void give(uint64_t held, char* const* memory);
  void forget();
  void compute(uint64_t held);
  std::vector<Recorder::FusedOperand> operands(char* const* memory) const;

  std::mutex mutex_;
  std::shared_ptr<Recording> recording_;
  Recorder* recorder_ = nullptr;
  bool holds_ = false;                          // something perhaps; this thread's alone, without the mutex
  Recorded *at_ = nullptr, *passed_ = nullptr;  // passed_: what the call that comes next might have been fed
  int64_t kept_ = 0;                            // bytes that nobody else held before it
  uint64_t fed_ = 0;                            // results that have passed on to a call, and stay put off
  int count_ = 0, outside_ = 0, seen_ = 0;      // seen_: with those of the call that is looked at
  Recorded* calls_[kMostCalls];
  Storage* results_[kMostCalls];  // strong: who else holds one wants it; null: written over
  char* written_[kMostCalls];     // where results go that are written in place
  Outside outsides_[kMostOutside];
};

Window& window();  // this thread's

}  // namespace dyadic::inline v1::graph
