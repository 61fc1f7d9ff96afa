// What a composition demands of values: probabilities that lie between 0 and 1, class numbers that there are. It is demanded
// again in each run of a step without its program, where the program would have looked.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "base/parallel.h"
#include "dyadic/tensor.h"

namespace dyadic::inline v1::ops {

using Demand = std::function<void(std::span<const Tensor>)>;
// check(of) throws where the values are not what they must be; `key`: all else that it goes by. None of them is on meta.
void demand(const char* name, std::string key, std::span<const Tensor> of, Demand check);
// The same, where all else is what the error says: text() is made to be told, or as the key where a run is written down.
using Said = FunctionRef<std::string()>;
void demand(const char* name, std::span<const Tensor> of, Said text, void (*check)(std::span<const Tensor> of, Said text));
// All elements of a condition are true, else an Error of this text. On meta nothing is looked at.
void demand_all(const char* name, const Tensor& condition, Said text);

}  // namespace dyadic::inline v1::ops
