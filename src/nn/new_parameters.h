// Who sees the parameters that modules of this thread get, as they get them.
#pragma once
#include "dyadic/tensor.h"

namespace dyadic::inline v1::nn {

class NewParameters {
  NewParameters* before_;

 public:
  NewParameters();
  virtual ~NewParameters();
  NewParameters(const NewParameters&) = delete;
  virtual void came(Tensor& parameter) = 0;  // with its values, which may still change
  static NewParameters* watching();          // the innermost of this thread; null: nobody
};

}  // namespace dyadic::inline v1::nn
