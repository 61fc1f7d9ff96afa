// What an optimizer keeps of a parameter that lies on disk: it lies there too.
#pragma once
#include <map>
#include <string>

#include "device/allocator.h"
#include "dyadic/tensor.h"

namespace dyadic::inline v1::offload {

using States = std::map<std::string, Tensor, std::less<>>;
// A parameter's turn in a step: while it lives, the ledger counts the parameter and those of its states that lie on disk. They
// are in memory then.
class Turn {
  LedgerCharge charge_;

 public:
  Turn(const Tensor& p, const States& states);
};
// That turn is next: parameter and states are on their way from disk.
void read_ahead(const Tensor& p, const States& states);
// It was: states that are new follow it into its file, and all of it leaves memory until the next turn. Small ones stay.
void let_go(const Tensor& p, const States& states);
// A new state of a parameter, where it belongs.
void follow(const Tensor& p, const Tensor& state);
// What a new state counts as: one that will follow its parameter to disk as what a turn has in memory.
Category category_of_state(const Tensor& p, int64_t numel, DType dtype);

}  // namespace dyadic::inline v1::offload
