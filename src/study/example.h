// A batch without its values, and what having one takes: what dry runs stand on.
#pragma once
#include <string>
#include <vector>

#include "study/source.h"

namespace dyadic::inline v1::study {

// What a batch lies in is data to the ledger, no temporary that becomes an activation where backward reads it.
void as_data(const data::Value& batch);

class Example {
 public:
  Example() = default;
  explicit Example(const data::Value& batch);  // its tensors are the run's, dense
  // The first batch of a source, which is shown to `look`. Memory that was there before (a list's batches, views of the
  // caller's tensors) is none of the run's: found out by letting go of one storage after the other.
  Example(Source& source, FunctionRef<void(const data::Value&)> look);

  // On meta, and in the ledger what a batch is that training has. `rows`, where it is not 0, stands in the place of the first
  // size that the first tensor has.
  data::Value blank(int64_t rows = 0) const;
  data::Value zeros() const;                  // in memory
  bool like(const data::Value& batch) const;  // of the same shapes
  int64_t rows() const { return rows_; }
  int64_t ahead() const { return ahead_; }  // bytes of batches that workers have ready beside it, at most
  bool arrays() const { return arrays_; }   // another language's are among it
  std::string text() const { return like_.str(); }

 private:
  struct Part {      // a tensor
    Tensor like;     // on meta, in memory of its own
    size_t first;    // that lies in the same memory
    int64_t bytes;   // of that memory; 0: it was there before
    int64_t offset;  // in it
    bool whole;      // it is all there is
  };
  data::Value like_;
  std::vector<Part> parts_;
  int64_t rows_ = 0, making_ = 0, ahead_ = 0;  // making_: bytes beyond the batch itself while it is made
  bool arrays_ = false;
};

}  // namespace dyadic::inline v1::study
