#include "ops/pointwise.h"

namespace dyadic::DY_ISA {

extern constexpr OpDef neg_op = holomorphic<1, Types::same>(
    {
        .sig = "neg(Tensor self) -> Tensor",
        .doc = "-x.",
        .aliases = "negative",
        .inplace = true,
    },
    [](auto x) { return -x; }, [](auto g, auto x, auto y) { return -g; });

}  // namespace dyadic::DY_ISA
