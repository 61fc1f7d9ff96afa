// What an op's lambda computes of f32, by running it on a tracer that writes down what it calls.
#pragma once
#include <memory>

#include "corridor/call.h"
#include "loops/threaded.h"

namespace dyadic::inline v1::graph {

// numbers: the op's numeric arguments. Null: it is more than arithmetic that has one rounding, or none, wherever it runs.
std::shared_ptr<const Expression> expression_of(const Pointwise& op, std::span<const Scalar> numbers);

}  // namespace dyadic::inline v1::graph
