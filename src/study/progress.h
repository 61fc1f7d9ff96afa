// The study's progress is shown by the bar of any run.
#pragma once
#include "dyadic/progress.h"

namespace dyadic::inline v1::study {
using train::Progress;
}
