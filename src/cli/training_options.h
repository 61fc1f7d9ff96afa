// The options that subcommands which train a built-in model share.
#pragma once
#include "cli/options.h"
#include "study/preset.h"

namespace dyadic::inline v1::cli {

void add_setting(Options& options, const study::Setting& setting);
// How several ranks share a step: --shards, --spread and --wire.
void add_ranks(Options& options, int64_t& shards, std::string& spread, std::string& wire);

inline constexpr const char* kAllowDoc =
    "what may change results to fit: accumulation (a batch in pieces), states (in fewer bits); repeatable";
void check_allowed(const std::string& name);

}  // namespace dyadic::inline v1::cli
