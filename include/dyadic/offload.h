// Models that are larger than memory: modules whose weights stay in a file, and are read ahead while others run.
//
//   auto m = dy::models::load("path/to/model", {.device_map = dy::DeviceMap{{"model.layers", "disk"}, {"", "cpu"}}});
//
//   dy::DeviceMap map = dy::infer_auto_device_map(model, {.cpu = int64_t(4) << 30});
//   dy::dispatch_model(model, map, "offload");   // of any module: what goes to disk is written into a file in that folder
//
// Results are the same bits. Of weights on disk no more is in this process's memory than the module that runs reads; the next
// ones are on their way from the disk meanwhile, in the order in which they ran before. Frozen and trained parameters may both
// lie there, and gradients flow through either.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dyadic/nn.h"

namespace dyadic::inline v1 {

// Paths of modules or parameters, each with "cpu" or "disk". A parameter lies where the longest path says that its name begins
// with; "" is the whole model.
using DeviceMap = std::vector<std::pair<std::string, std::string>>;

// Where a parameter lies. ValueError for one that no path of the map begins.
bool is_on_disk(const DeviceMap& map, std::string_view parameter);
// ValueError for another word than those two, and for a path that the model does not have.
void check_device_map(const DeviceMap& map, nn::Module& model);

struct MaxMemory {
  nn::ByName by_name = {};
  int64_t cpu = 0;    // bytes of weights; 0: what the machine has to spare
  int64_t disk = -1;  // -1: there is no such limit
};
// Modules in their order: in memory as long as they fit beside the largest that is read from disk, the others on disk. Elements
// of a ModuleList, and modules of the kinds `no_split`, lie in one place. A model that fits is {{"", "cpu"}}. The model may be
// on meta. OutOfMemoryError where both together are too small.
DeviceMap infer_auto_device_map(nn::Module& model, const MaxMemory& max_memory = {},
                                const std::vector<std::string>& no_split = {});

// Moves the parameters that the map has on disk into a file in `folder`, which is made if need be. The file has no name: it is
// gone with the last of them. Parameters stay the tensors that they are, and those that require grad may still be written.
// Error "<folder>: ..." with the system's reason; what has been moved by then stays moved.
void dispatch_model(nn::Module& model, const DeviceMap& map, const std::string& folder);

// Parameters that modules get on this thread while it lives are moved so as they come, so that a model is made which is larger
// than memory; on meta they count nothing, as the ledger has it of the others. dispatch_model(model, {{"", "disk"}}, folder)
// then sees to reading.
class OffloadScope {
  struct Mover;
  std::unique_ptr<Mover> mover_;

 public:
  explicit OffloadScope(std::string folder);
  ~OffloadScope();
  OffloadScope(const OffloadScope&) = delete;
};

bool is_offloaded(const Tensor& t);  // lies in a model's file or in one of dispatch_model
// Of its parameters, each once.
int64_t offloaded_bytes(const nn::Module& model);
// What is in memory of them at a time: the most that one module reads.
int64_t offloaded_window(nn::Module& model);
int64_t offloaded_window(nn::Module& model, const DeviceMap& map);  // once the model lies as the map says

}  // namespace dyadic::inline v1
