// What a call computes, as bytes to compare: op, numbers, dtypes and geometry, all that its plan depends on; and such a plan.
#pragma once
#include <memory>
#include <string>

#include "corridor/call.h"

namespace dyadic::inline v1::graph {

void append(std::string& key, const auto& value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); }
void append_layout(std::string& key, const TensorImpl& t);
std::string key_of(const Call& c);
std::shared_ptr<const Plan> plan_of(const Call& c);  // one that lives longer than the call

}  // namespace dyadic::inline v1::graph
