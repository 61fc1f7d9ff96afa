#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr PointwiseOp conj_physical_op = holomorphic<1, Types::same>(
    {
        .sig = "conj_physical(Tensor self) -> Tensor",
        .doc = "The complex conjugate as a new tensor.",
        .inplace = true,
    },
    [](auto x) { return conj(x); }, [](auto g, auto x, auto y) { return conj(g); });

}  // namespace dyadic::DY_ISA
