// Which group world() is.
#pragma once
#include "dyadic/distributed.h"

namespace dyadic::inline v1::distributed {

extern constinit thread_local Group* t_world;  // of this thread, in place of the processes'; null: none

}  // namespace dyadic::inline v1::distributed
