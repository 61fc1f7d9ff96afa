// Comparing what is saved with what is here.
#pragma once
#include "dyadic/train.h"

namespace dyadic::inline v1::train {

using Described = std::vector<std::pair<std::string, std::string>>;  // name, what it is: "f32[3, 4]"

Described described(const nn::NamedTensors& tensors);
void compare_names(const std::string& part, const Described& there, const Described& here, Differences& differences);
// Of two JSON documents, key by key: "optimizer.lr" is 0.1 there and 0.2 here.
void compare_documents(const std::string& part, const std::string& there, const std::string& here, Differences& differences);

}  // namespace dyadic::inline v1::train
