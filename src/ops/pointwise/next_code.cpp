#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

// Codes of one sign are in the order of the floats, so that the next float has the next code. top: the largest code of what is
// not NaN; low: the code of -0.
extern constexpr PointwiseOp next_code_op = pointwise<2, Types::same, 2>(
    {
        .sig = "next_code(Tensor self, Tensor other, Scalar top, Scalar low) -> Tensor",
        .doc = "The code of the float after that of code self in the direction of other.",
        .internal = true,
        .samples = "next_code(indices(99; 3, 4), indices(99; 4), 70, -9223372036854775808)",
    },
    [](Whole auto a, Whole auto b, Whole auto top, Whole auto low) {
      const auto size_a = a & ~low, size_b = b & ~low, sign_a = a >> 63, sign_b = b >> 63;
      const auto x = (size_a ^ sign_a) - sign_a, y = (size_b ^ sign_b) - sign_b;  // in the order of the floats
      const decltype(a + b) one = 1;
      const auto next = select(size_a == 0, (b & low) | one, a + select((y > x) ^ (sign_a < 0), one, -one));
      return select(size_a > top, a, select((size_b > top) | (x == y), b, next));
    });

}  // namespace dyadic::DY_ISA
