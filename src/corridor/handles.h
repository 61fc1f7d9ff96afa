// What names an argument of an op: ops::softmax_along_op::arg::dim. A handle knows where the argument stands, and by its type
// what it is; those of every op are made from the signatures (corridor/args.h).
#pragma once
#include <cstdint>

namespace dyadic::inline v1 {

struct AnyArg {
  uint8_t at;  // its number among the arguments
};
struct TensorArg : AnyArg {
  uint8_t tensor;  // and among the tensors
};
struct LateTensorArg : AnyArg {};  // behind a list, or behind what may be absent: how many tensors come before it, a call knows
struct TensorsArg : AnyArg {};
struct ScalarArg : AnyArg {};
struct IntArg : AnyArg {};
struct RealArg : AnyArg {};
struct BoolArg : AnyArg {};
struct IntsArg : AnyArg {};
struct DTypeArg : AnyArg {};
struct DeviceArg : AnyArg {};
struct TextArg : AnyArg {};

}  // namespace dyadic::inline v1
