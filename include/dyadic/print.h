// How tensors are printed (Tensor::str). The rules and the defaults are PyTorch's.
#pragma once
#include <cstdint>
#include <optional>

namespace dyadic::inline v1 {

struct PrintOptions {
  int precision = 4;             // digits behind the point
  int64_t threshold = 1000;      // a tensor with more elements is shown by its edges
  int64_t edgeitems = 3;         // entries at each end of a dimension that is cut
  int64_t linewidth = 80;        // columns
  std::optional<bool> sci_mode;  // scientific notation: always, never, or where the values ask for it
};
// Of all threads. ValueError for a negative number or a precision above 60.
void set_printoptions(const PrintOptions& options);
PrintOptions printoptions();

}  // namespace dyadic::inline v1
