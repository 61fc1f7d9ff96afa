// Failed assertions become exceptions too: a bug of ours must not take the user's process down.
#include "base/check.h"

namespace dyadic::inline v1 {

void assertion_failed(const char* condition, const char* file, int line) {
  fail("internal error: {} does not hold at {}:{}; please report this", condition, file, line);
}

}  // namespace dyadic::inline v1
