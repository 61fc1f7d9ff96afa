// As torch/torch.h beside it.
#pragma once
#include "dyadic/torch.h"
