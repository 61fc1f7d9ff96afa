// Gradient accumulation: batches by their share of the samples.
#include "base/check.h"
#include "dyadic/train.h"

namespace dyadic::inline v1::train {
namespace {

// Samples of a batch: the first size of its first tensor.
int64_t samples_of(const data::Value& batch) {
  using Kind = data::Value::Kind;
  switch (batch.kind()) {
    case Kind::tensor:
      return batch.tensor().dim() ? batch.tensor().size(0) : 1;
    case Kind::list:
      return batch.size() ? samples_of(batch[size_t(0)]) : 0;
    case Kind::named:
      return batch.size() ? samples_of(batch.named()[0].second) : 0;
    default:
      return 1;
  }
}

}  // namespace

std::optional<Window> next_window(data::Epoch& epoch, int64_t length) {
  DY_CHECK_AS(ValueError, length > 0, "next_window: length is not positive: {}", length);
  Window window;
  int64_t total = 0;
  while (int64_t(window.size()) < length) {
    std::optional<data::Value> batch = epoch.next();
    if (!batch) break;
    const int64_t samples = samples_of(*batch);
    total += samples;
    window.emplace_back(double(samples), std::move(*batch));
  }
  if (window.empty()) return {};
  for (auto& [weight, batch] : window) weight = total ? weight / double(total) : 0;
  return window;
}

}  // namespace dyadic::inline v1::train
