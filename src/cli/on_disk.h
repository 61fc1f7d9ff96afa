// Models whose weights stay on disk as far as --memory-limit asks for it.
#pragma once
#include <functional>
#include <string>

#include "dyadic/model_plan.h"

namespace dyadic::inline v1::cli {

inline constexpr const char* kOffloadHelp =
    "with --memory-limit, of weights that stay on disk: where those go that are stored otherwise than the model's files have "
    "them";

// Under --memory-limit: what of the model's weights must stay on disk, by its form on meta; says on standard error what that
// is.
using PlaceModel = std::function<tune::Placement(models::CausalLM&, int64_t limit)>;
void load_within_limit(models::LoadOptions& load, const std::string& model, const char* when, const PlaceModel& place);

}  // namespace dyadic::inline v1::cli
