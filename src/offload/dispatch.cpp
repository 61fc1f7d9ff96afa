// Parameters moved into a file.
#include "base/check.h"
#include "dyadic/autograd.h"
#include "dyadic/offload.h"
#include "offload/reader.h"
#include "offload/spill.h"
#include "tensor/impl.h"
#include "tensor/resize.h"

namespace dyadic::inline v1 {

void dispatch_model(nn::Module& model, const DeviceMap& map, const std::string& folder) {
  check_device_map(map, model);
  const NoGrad guard;
  std::shared_ptr<offload::Spill> file;
  for (auto& [name, p] : model.named_parameters()) {
    if (!is_on_disk(map, name) || is_offloaded(p)) continue;
    DY_CHECK_AS(ValueError, p.device() == cpu, "device_map: {} is on {}: what goes to disk comes from the cpu", name,
                p.device().str());
    if (!file) file = offload::Spill::make(folder);
    become_view(p, file->put(p, p.requires_grad()));
  }
  offload::Reader::watch(model);
}

}  // namespace dyadic::inline v1
