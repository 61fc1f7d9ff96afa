#include "cli/on_disk.h"

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "device/limit.h"

namespace dyadic::inline v1::cli {

// The most that making one weight out of what is stored takes.
static int64_t converting(models::CausalLM& stored, models::CausalLM& wanted) {
  const NoGrad guard;
  const nn::NamedItems<Tensor> all = stored.named_parameters();
  int64_t most = 0;
  for (auto& [name, t] : wanted.named_parameters()) {
    const Tensor* is = all.find(name);
    if (!is || is->dtype() == t.dtype()) continue;
    reset_peak_memory_stats(meta);
    const int64_t before = memory_stats(meta).total;
    (is->dtype().is_blocked() && t.dtype().is_blocked() ? is->to(f32) : *is).to(t.dtype());
    most = std::max(most, memory_stats(meta).total_peak - before);
  }
  return most;
}

models::Model load_within_limit(models::LoadOptions load, const std::string& model, const char* when, const PlaceModel& place) {
  const int64_t limit = memory_limit();
  if (!limit) return models::load(model, load);
  models::LoadOptions blank = load;
  blank.device = meta;
  const tune::Placement p = [&] {
    const WithoutLimit planning;
    const models::Model skeleton = models::load(model, blank), stored = models::load(model, {.device = meta});
    return place(*skeleton, limit, converting(*stored, *skeleton));
  }();
  if (p.on_disk)
    std::fprintf(stderr, "to fit into %s, %s of the weights stay on disk and are read %s\n", human_bytes(limit).c_str(),
                 human_bytes(p.on_disk).c_str(), when);
  load.device_map = p.on_disk ? p.map : DeviceMap();
  models::Model loaded = models::load(model, load);
  set_memory_limit(limit - p.window);
  return loaded;
}

}  // namespace dyadic::inline v1::cli
