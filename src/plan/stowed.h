// Results that a forward writes into a file instead of keeping them, and that backward reads again.
#pragma once
#include <memory>
#include <string>

#include "base/unnamed_file.h"
#include "dyadic/tensor.h"

namespace dyadic::inline v1::planning {

// Of one forward: what it has written, one after the other; backward reads it from the end.
class StowFile {
  UnnamedFile file_;
  int64_t end_ = 0, asked_ = INT64_MAX;  // from there on the system has been asked for what there is

 public:
  explicit StowFile(std::string folder) : file_(std::move(folder)) {}
  int64_t write(const void* data, int64_t bytes);  // where it lies
  void read(int64_t at, void* to, int64_t bytes);
  void free(int64_t at, int64_t bytes) const { file_.free(at, bytes); }
};

// The memory of one result. On the device meta nothing is written.
class Stowed {
  std::shared_ptr<StowFile> file_;
  int64_t at_ = 0, bytes_ = 0;
  uint32_t version_;
  DType dtype_;
  Device device_ = cpu;

 public:
  Stowed(const Tensor& t, std::shared_ptr<StowFile> file);  // a view of it; file: null on meta
  ~Stowed();
  Stowed(const Stowed&) = delete;
  bool is_of(const Tensor& t) const;  // not written since
  Tensor read() const;                // its elements in their order in memory
};

}  // namespace dyadic::inline v1::planning
