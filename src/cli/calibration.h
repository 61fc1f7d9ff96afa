// What subcommands that fit weights to data share.
#pragma once
#include <memory>

#include "cli/files.h"
#include "dyadic/ops.h"

namespace dyadic::inline v1::cli {

// Windows of a text's tokens, i64 [1, window] each, spread over it; ValueError for a text that is too short to say anything.
std::vector<Tensor> calibration_windows(const std::string& model, const std::string& file, int64_t window, int64_t samples);

// On the terminal, at each weight: `progress` and `context` of such options.
struct WatchWeights {
  const char* name;
  std::unique_ptr<Steps> steps = nullptr;
  static void step(void* self, size_t done, size_t total, const std::string&);
};

}  // namespace dyadic::inline v1::cli
