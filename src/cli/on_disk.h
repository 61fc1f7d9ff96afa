// Models whose weights stay on disk as far as --memory-limit asks for it.
#pragma once
#include <functional>
#include <string>

#include "dyadic/model_plan.h"

namespace dyadic::inline v1::cli {

inline constexpr const char* kOffloadHelp =
    "with --memory-limit, of weights that stay on disk: where those go that are stored otherwise than the model's files have "
    "them";

// A model, of whose weights so much stays on disk as --memory-limit asks for: `place` says that by the model's form on meta.
// loading: what the largest weight that is converted takes meanwhile. Standard error hears of what stays there.
using PlaceModel = std::function<tune::Placement(models::CausalLM&, int64_t limit, int64_t loading)>;
models::Model load_within_limit(models::LoadOptions load, const std::string& model, const char* when, const PlaceModel& place);

}  // namespace dyadic::inline v1::cli
