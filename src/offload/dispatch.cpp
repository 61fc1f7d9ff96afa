// Parameters moved into a file.
#include "base/check.h"
#include "dyadic/autograd.h"
#include "dyadic/offload.h"
#include "nn/new_parameters.h"
#include "offload/pages.h"
#include "offload/reader.h"
#include "offload/spill.h"
#include "tensor/impl.h"
#include "tensor/resize.h"

namespace dyadic::inline v1 {

// Into the file, which is made for the first; on meta it lies nowhere.
static void move(Tensor& p, std::shared_ptr<offload::Spill>& file, const std::string& folder, bool writable) {
  if (p.is_meta()) return become_view(p, offload::Spill::blank(p));
  if (!file) file = offload::Spill::make(folder);
  become_view(p, file->put(p, writable));
  if (is_offloaded(p)) offload::Pages(p).drop();  // without elements it is not
}

struct OffloadScope::Mover : nn::NewParameters {
  const std::string folder;
  std::shared_ptr<offload::Spill> file;
  explicit Mover(std::string f) : folder(std::move(f)) {}
  void came(Tensor& p) override {
    if (is_offloaded(p) || (!p.is_meta() && p.device() != cpu)) return;
    const NoGrad guard;
    move(p, file, folder, true);
  }
};
OffloadScope::OffloadScope(std::string folder) : mover_(std::make_unique<Mover>(std::move(folder))) {}
OffloadScope::~OffloadScope() = default;

void dispatch_model(nn::Module& model, const DeviceMap& map, const std::string& folder) {
  check_device_map(map, model);
  const NoGrad guard;
  std::shared_ptr<offload::Spill> file;
  for (auto& [name, p] : model.named_parameters()) {
    if (!is_on_disk(map, name) || is_offloaded(p)) continue;
    DY_CHECK_AS(ValueError, p.is_meta() || p.device() == cpu, "device_map: {} is on {}: what goes to disk comes from the cpu",
                name, p.device().str());
    move(p, file, folder, p.requires_grad());
  }
  offload::Reader::watch(model);
}

}  // namespace dyadic::inline v1
