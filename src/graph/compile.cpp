#include "dyadic/compile.h"

#include "corridor/run.h"
#include "graph/window.h"

namespace dyadic::inline v1 {

using graph::window;

std::shared_ptr<graph::Recording> detail::make_recording() { return std::make_shared<graph::Recording>(); }
std::string detail::explain(const graph::Recording& recording) { return recording.explain(); }

detail::CompiledRun::CompiledRun(const std::shared_ptr<graph::Recording>& recording)
    : open_(!(t_modes & kDeferring) && window().open(recording)) {
  if (open_) t_modes |= kDeferring;
}
void detail::CompiledRun::finish() {
  if (!std::exchange(open_, false)) return;
  t_modes &= ~uint32_t(kDeferring);
  window().close();
}
detail::CompiledRun::~CompiledRun() {
  try {
    finish();
  } catch (...) {  // out of memory: whoever reads what is missing hears of it
  }
}

}  // namespace dyadic::inline v1
