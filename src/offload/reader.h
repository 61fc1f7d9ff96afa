// Reads modules' weights ahead of their turn, and lets them go after it.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "dyadic/nn.h"

namespace dyadic::inline v1::offload {

// A hook of every module that has weights of its own in a file. A run is a sequence of moments: a module's turn in forward, or
// in backward. Which follows which is known once it has happened twice in a row, so the experts that a token does not take are
// not read.
class Reader : public nn::Hook, public std::enable_shared_from_this<Reader> {
  struct Part {
    std::vector<Tensor> weights;  // where they lie may change: they are stored in another format
    bool rows = false;            // a lookup's: it reads few of them
    bool begun = false;           // in this pass
  };
  struct Moment {
    int next = -1;
    bool sure = false;   // it was so before, too
    bool asked = false;  // for what it reads, since its last turn
  };
  std::mutex mutex_;
  std::vector<Part> parts_;
  std::map<const nn::Module*, int> numbers_;
  std::vector<Moment> moments_;  // of part i: 2 i in forward, 2 i + 1 in backward
  int first_ = -1, last_ = -1;
  int open_ = -1;  // the part whose turn in backward it is
  bool in_backward_ = false;

  void begin(int moment);
  void begin_backward(int part);
  static void end_backward(void* reader);
  int64_t ask(int moment);  // bytes that it is about
  void drop(int part);

 public:
  // Adds it to those modules of the model; null where there are none.
  static std::shared_ptr<Reader> watch(nn::Module& model);
  void before(nn::Module& m, std::vector<Tensor>& inputs) override;
  void after(nn::Module& m, const std::vector<Tensor>& inputs, std::vector<Tensor>& results) override;
};

}  // namespace dyadic::inline v1::offload
