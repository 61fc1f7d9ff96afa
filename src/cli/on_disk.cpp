#include "cli/on_disk.h"

#include <cstdio>

#include "base/text.h"
#include "device/limit.h"

namespace dyadic::inline v1::cli {

void load_within_limit(models::LoadOptions& load, const std::string& model, const char* when, const PlaceModel& place) {
  const int64_t limit = memory_limit();
  if (!limit) return;
  models::LoadOptions blank = load;
  blank.device = meta;
  const tune::Placement p = [&] {
    const WithoutLimit planning;
    return place(*models::load(model, blank), limit);
  }();
  if (!p.on_disk) return;
  load.device_map = p.map;
  set_memory_limit(limit - p.window);
  std::fprintf(stderr, "to fit into %s, %s of the weights stay on disk and are read %s\n", human_bytes(limit).c_str(),
               human_bytes(p.on_disk).c_str(), when);
}

}  // namespace dyadic::inline v1::cli
