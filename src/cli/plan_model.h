// dyadic plan MODEL: what a language model that is there takes.
#pragma once
#include <string>
#include <vector>

#include "cli/command.h"

namespace dyadic::inline v1::cli {

struct ModelPlan {
  std::string model, kv, lora;  // lora empty: rank=16
  std::vector<std::string> formats;
  int64_t context = 0, batch = 1;
};
int plan_model(const ModelPlan& p, const Common& common);

}  // namespace dyadic::inline v1::cli
