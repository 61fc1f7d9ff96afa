// A file without a name that tensors' memory is moved into.
#pragma once
#include <memory>
#include <string>

#include "base/unnamed_file.h"
#include "dyadic/tensor.h"

namespace dyadic::inline v1::offload {

class Spill : public std::enable_shared_from_this<Spill> {
  UnnamedFile file_;
  int64_t end_ = 0;
  explicit Spill(const std::string& folder) : file_(folder) {}

 public:
  static std::shared_ptr<Spill> make(const std::string& folder) { return std::shared_ptr<Spill>(new Spill(folder)); }
  const UnnamedFile& file() const { return file_; }
  // The same elements, contiguous, in the file, to be written there or only read.
  Tensor put(const Tensor& t, bool writable);
  // What that is on meta, where the ledger counts nothing of it.
  static Tensor blank(const Tensor& t);
};
bool is_spilled(const Tensor& t);
// `t`, to be written, in the file that `there` lies in; on meta where that is.
Tensor put_beside(const Tensor& there, const Tensor& t);

}  // namespace dyadic::inline v1::offload
