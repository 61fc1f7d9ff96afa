// Training whose parameters, gradients and states are spread over ranks, each rank on a batch of its own, as PyTorch's
// fully_shard has it: gradients are the mean over ranks.
//
//   for (auto* block : model->blocks) dy::distributed::fully_shard(*block);
//   dy::distributed::fully_shard(*model);           // what no block has
//   dy::optim::AdamW optimizer(model->named_parameters());
//   loss((*model)(x), y).backward();
//   optimizer.step();                               // of each rank's own parameters
#pragma once
#include "dyadic/distributed.h"
#include "dyadic/nn.h"

namespace dyadic::inline v1::distributed {

// The module's parameters that no module inside of it has taken belong to one rank each from here on, and become rank 0's. They
// are gathered when the module is called and, again, when its backward begins; gradients go to their rank when its backward has
// ended. With `reshard_after_forward` false they stay between the two. On every rank, in one order; nothing on one rank.
void fully_shard(nn::Module& module, bool reshard_after_forward = true, Group& group = world());

// Parameters of the module and of those inside of it are here, until they are let go again. On every rank.
void unshard(nn::Module& module, Group& group = world());
void reshard(nn::Module& module, Group& group = world());
// The 2-norm of the gradients of parameters of which each has its own on one rank. On every rank.
double spread_norm(const nn::NamedTensors& params, Group& group = world());
bool is_spread(const Tensor& parameter);

}  // namespace dyadic::inline v1::distributed
