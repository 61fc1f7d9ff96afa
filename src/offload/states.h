// What an optimizer keeps of a parameter that lies on disk: it lies there too.
#pragma once
#include <map>
#include <string>

#include "dyadic/device.h"
#include "dyadic/tensor.h"

namespace dyadic::inline v1::offload {

using States = std::map<std::string, Tensor, std::less<>>;
// A parameter's turn in a step: while it lives, the ledger counts the parameter and those of its states that lie on disk. They
// are in memory then.
class Turn {
  Device device_;
  int64_t bytes_ = 0;

 public:
  Turn(const Tensor& p, const States& states);
  ~Turn();
  Turn(const Turn&) = delete;
};
// That turn is next: parameter and states are on their way from disk.
void read_ahead(const Tensor& p, const States& states);
// It was: states that are new follow it into its file, and all of it leaves memory until the next turn. Small ones stay.
void let_go(const Tensor& p, const States& states);
// A new state of a parameter, where it belongs.
void follow(const Tensor& p, const Tensor& state);

}  // namespace dyadic::inline v1::offload
