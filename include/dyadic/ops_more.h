// All of it is in ops.h.
#pragma once
#include "dyadic/ops.h"
