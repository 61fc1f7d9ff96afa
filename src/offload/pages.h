// A mapped file's pages under a tensor.
#pragma once
#include <cstdint>

#include "dyadic/tensor.h"

namespace dyadic::inline v1::offload {

// It holds the tensor: what is mapped there stays mapped, whatever becomes of the parameter.
class Pages {
  Tensor t_;
  uintptr_t begin_ = 0, end_ = 0;

 public:
  explicit Pages(const Tensor& t);  // t is offloaded: of other memory drop() would lose what is there
  int64_t bytes() const { return int64_t(end_ - begin_); }
  void read_ahead() const;  // the system begins to read what it does not have; returns at once
  // They leave this process's memory. What was written is the file's: nothing is lost, and whoever touches them has them
  // again.
  void drop() const;
};

}  // namespace dyadic::inline v1::offload
