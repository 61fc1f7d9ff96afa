// Which weights stay on disk so that the rest fits into memory.
#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "dyadic/model_plan.h"

namespace dyadic::inline v1::tune {
namespace {

// Paths of what may lie there. Elements of lists first; then a head, whose module reads it, and an embedding beside one:
// without one the embedding may be the head too, and read in other ways than rows.
struct Parts {
  std::vector<std::string> layers, others;
};
Parts parts_of(nn::Module& model) {
  Parts parts;
  const auto in_layer = [&](const std::string& path) {
    return std::ranges::any_of(parts.layers, [&](auto& layer) { return path.starts_with(layer + "."); });
  };
  std::vector<std::pair<std::string, const Tensor*>> heads, embeddings;
  for (auto& [path, m] : model.named_modules()) {
    const std::string_view kind = m->kind();
    if (in_layer(path)) continue;
    if (kind == "ModuleList")
      for (auto& [key, element] : m->children())
        if (element && element->nbytes()) parts.layers.push_back(path + "." + key);
    if (kind != "Linear" && kind != "Embedding") continue;
    for (auto& [name, slot] : m->own_parameters())
      if (name == "weight" && slot->defined()) (kind == "Linear" ? heads : embeddings).emplace_back(path, slot);
  }
  for (auto& [path, head] : heads)
    for (auto& [place, embedding] : embeddings)
      if (head->impl() != embedding->impl() && head->sizes() == embedding->sizes()) parts.others = {path, place};
  return parts;
}

}  // namespace

Placement place(nn::Module& model, int64_t peak, int64_t limit, int64_t loading) {
  const int64_t weights = model.nbytes();
  Placement found{.peak = std::max(peak, weights + loading)};
  if (!limit || found.peak <= limit) return found;
  const Parts parts = parts_of(model);
  const auto bytes_below = [&](const std::string& path) {
    int64_t sum = 0;
    for (auto& [name, p] : model.named_parameters())
      if (name.starts_with(path + ".")) sum += p.nbytes();
    return sum;
  };
  int64_t least = found.peak;
  const size_t layers = parts.layers.size();
  for (size_t count = 1; count <= layers + parts.others.size(); ++count) {
    Placement p;
    const size_t some = std::min(count, layers);
    for (size_t i = 0; i < some; ++i) p.map.emplace_back(parts.layers[(2 * i + 1) * layers / (2 * some)], "disk");
    for (size_t i = layers; i < count; ++i) p.map.emplace_back(parts.others[i - layers], "disk");
    for (size_t i = 1; i < p.map.size(); ++i) p.on_disk += bytes_below(p.map[i].first);
    p.window = offloaded_window(model, p.map);
    p.peak = std::max(peak - p.on_disk + p.window, weights - p.on_disk + loading);
    if (p.peak <= limit) return p;
    least = std::min(least, p.peak);
  }
  fail<OutOfMemoryError>(
      "{} of memory are too few: the least is {} ({} bytes), with {} on disk; take a shorter context, fewer texts "
      "at once or weights in fewer bits",
      human_bytes(limit), human_bytes(least), least, layers ? "all layers" : "nothing");
}

}  // namespace dyadic::inline v1::tune
