// What an optimizer keeps of a parameter that lies on disk: it lies there too.
#pragma once
#include <map>
#include <string>

#include "dyadic/tensor.h"

namespace dyadic::inline v1::offload {

using States = std::map<std::string, Tensor, std::less<>>;
// A parameter's turn in a step is next: it and its states are on their way from disk.
void read_ahead(const Tensor& p, const States& states);
// It was: states that are new follow it into its file, and all of it leaves memory until the next turn. Small ones stay.
void let_go(const Tensor& p, const States& states);

}  // namespace dyadic::inline v1::offload
