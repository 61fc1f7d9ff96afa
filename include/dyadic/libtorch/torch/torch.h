// On the include path of the CMake target dyadic::torch alone, where <torch/torch.h> is to mean Dyadic.
#pragma once
#include "dyadic/torch.h"
