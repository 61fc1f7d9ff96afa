// The records' files, and the parts of optimizers that are no rule over elements.
#pragma once
#include <span>

#include "optim/update.h"

namespace dyadic::inline v1::optim {

std::span<const OptimizerDef> sgd_optimizers();       // SGD, ASGD, Rprop, LARS, Lion
std::span<const OptimizerDef> adam_optimizers();      // Adam and what follows it
std::span<const OptimizerDef> adaptive_optimizers();  // Adagrad, RMSprop, Adadelta
std::span<const OptimizerDef> matrix_optimizers();    // Adafactor, Muon, LBFGS

double lbfgs_step(ParamGroup& group, ParamState& state, double (*closure)(void*), void* context);
void swap_schedule_free(const Tensor& p, ParamState& state, double beta1, bool train);
}  // namespace dyadic::inline v1::optim
