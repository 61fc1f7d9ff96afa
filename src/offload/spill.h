// A file without a name that tensors' memory is moved into.
#pragma once
#include <memory>
#include <string>

#include "dyadic/tensor.h"

namespace dyadic::inline v1::offload {

class Spill : public std::enable_shared_from_this<Spill> {
  int file_ = -1;
  int64_t end_ = 0;
  std::string folder_;
  explicit Spill(std::string folder) : folder_(std::move(folder)) {}

 public:
  static std::shared_ptr<Spill> make(const std::string& folder);  // the folder is made if need be
  ~Spill();
  Spill(const Spill&) = delete;
  // The same elements, contiguous, in the file, to be written there or only read.
  Tensor put(const Tensor& t, bool writable);
  // What that is on meta, where the ledger counts nothing of it.
  static Tensor blank(const Tensor& t);
};
bool is_spilled(const Tensor& t);
// `t`, to be written, in the file that `there` lies in; on meta where that is.
Tensor put_beside(const Tensor& there, const Tensor& t);

}  // namespace dyadic::inline v1::offload
