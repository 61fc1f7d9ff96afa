// Steps that round to nothing: an optimizer warns where most do, unless it runs for one who reports them.
#pragma once
#include <utility>

namespace dyadic::inline v1::optim {

extern thread_local bool t_reports_updates;

// While it lives, this thread's optimizers count (Optimizer::updates()) and do not warn.
class ReportsUpdates {
  bool before_ = std::exchange(t_reports_updates, true);

 public:
  ReportsUpdates() = default;
  ~ReportsUpdates() { t_reports_updates = before_; }
  ReportsUpdates(const ReportsUpdates&) = delete;
};

}  // namespace dyadic::inline v1::optim
