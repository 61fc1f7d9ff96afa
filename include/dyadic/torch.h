// namespace torch, so that programs written for libtorch compile as they are: in place of <torch/torch.h>, or by that name with
// the CMake target dyadic::torch, whose include path has such a header. Ops and tensors are those of namespace dyadic; modules
// are held (torch::nn::Linear is a shared Linear, TORCH_MODULE makes holders), options are chains (Conv2dOptions(1, 10,
// 5).stride(2)). Layers, optimizers and functions' options are made from the records (tools/generate). Parts:
//   torch/names.h       enumerations, checks, strings, devices; at and c10
//   torch/module.h      holders, Sequential, Functional, ModuleList
//   torch/layers.h      layers by their libtorch options
//   torch/functional.h  nn::functional with its FuncOptions
//   torch/optim.h       optimizers, schedules, parameter groups
//   torch/autograd.h    autograd::Function with its context
//   torch/data.h        datasets, transforms, data loaders
//   torch/files.h       save and load
// Not to be mixed with libtorch itself in one program.
#pragma once
#include "dyadic/torch/autograd.h"
#include "dyadic/torch/data.h"
#include "dyadic/torch/files.h"
#include "dyadic/torch/functional.h"
#include "dyadic/torch/layers.h"
#include "dyadic/torch/module.h"
#include "dyadic/torch/names.h"
#include "dyadic/torch/optim.h"
