// All of Dyadic's public interface.
#pragma once
#include "dyadic/amp.h"
#include "dyadic/anomaly.h"
#include "dyadic/autograd.h"
#include "dyadic/counters.h"
#include "dyadic/finfo.h"
#include "dyadic/gpt.h"
#include "dyadic/io.h"
#include "dyadic/nn.h"
#include "dyadic/ops.h"
#include "dyadic/optim.h"
#include "dyadic/planes.h"
#include "dyadic/version.h"
