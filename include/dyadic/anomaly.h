// Finding where the first NaN or infinity arose.
#pragma once
#include <string>

#include "dyadic/tensor.h"

namespace dyadic::inline v1 {

// While it lives, every floating result of this thread is looked at. The first one that is not finite though the op's inputs
// were names the op and the module that ran it; where already the inputs of the first op were not finite, that op is named.
// `raise`: NaN alone counts, and backward throws an Error at the first gradient that is NaN, with the op and the module where
// the first one arose.
class Anomaly {
  uint32_t before_;
  bool raised_;

 public:
  explicit Anomaly(bool raise = false);
  ~Anomaly();
  Anomaly(const Anomaly&) = delete;
  bool found() const;
  std::string op() const, module() const;
};

}  // namespace dyadic::inline v1
