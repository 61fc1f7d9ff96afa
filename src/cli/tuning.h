// What the subcommands that train a language model further share: a run's options, and what is said of it.
#pragma once
#include "cli/command.h"
#include "dyadic/finetune.h"

namespace dyadic::inline v1::cli {

struct Tuning {
  std::string model, data, eval_data, lora, base, state, compute, too_long = "cut", merge = "none", offload_folder,
                                                                  spread = "none", wire;
  bool no_packing = false;
  tune::FinetuneOptions o;
};
void declare_tuning(Options& options, Tuning& t);  // in a shared_ptr that outlives them

// A model in a format, empty: as it is. Scaled ones are for linear layers, as bitsandbytes does it; floats for all.
models::LoadOptions stored_in(const std::string& format);

// Reads what the options name, says what it will take, runs, and prints the report.
using TuneModel = std::function<tune::FinetuneReport(models::CausalLM&, const Tokenizer&, const tune::Data&)>;
int run_tuning(Tuning& t, const Common& common, const TuneModel& run);

}  // namespace dyadic::inline v1::cli
