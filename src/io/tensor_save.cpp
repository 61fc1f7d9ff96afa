// io::save: which writer is meant, and tensors in memory as what it reads from.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>

#include "base/text.h"
#include "io/bad_file.h"
#include "io/file_kinds.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

constexpr const FileWriter* kWriters[] = {&safetensors_writer, &gguf_writer, &torch_writer, &npz_writer, &npy_writer};

class InMemory final : public TensorFile {
  const NamedTensors& named_;
  std::vector<TensorInfo> tensors_;
  std::vector<size_t> same_;

 public:
  explicit InMemory(const NamedTensors& named) : TensorFile("memory"), named_(named) {
    using Place = std::tuple<const void*, const Format*, std::vector<int64_t>, std::vector<int64_t>>;
    std::map<Place, size_t> places;
    for (size_t i = 0; i < named.size(); ++i) {
      const auto& [name, t] = named[i];
      DY_CHECK_AS(ValueError, t.defined(), "save: tensor {}: it is undefined; leave it out", quote_name(name));
      DY_CHECK_AS(ValueError, !t.is_meta(), "save: tensor {}: a meta tensor has no values: it is {}; leave it out",
                  quote_name(name), describe(t));
      tensors_.push_back({name, t.dtype(), t.dtype().name(), t.sizes().vec(), uint64_t(t.nbytes())});
      if (t.dtype().is_blocked()) tensors_.back().order = storage_order(t.sizes(), t.strides());
      same_.push_back(i);
      if (t.numel() == 0) continue;
      const Place place{t.impl()->place(), t.dtype().format(), t.sizes().vec(), t.strides().vec()};
      same_.back() = places.emplace(place, i).first->second;
      if (same_[i] != i) tensors_[i].bytes = 0;
    }
  }
  std::string_view kind() const override { return "memory"; }
  const std::vector<TensorInfo>& tensors() const override { return tensors_; }
  Tensor get(size_t i) const override { return named_[i].second.detach().to(cpu); }
  size_t same_as(size_t i) const override { return same_[i]; }
};

}  // namespace

bool has_ending(const std::string& path, const char* endings) {
  std::string_view rest(endings);
  while (!rest.empty()) {
    const std::string_view ending = rest.substr(0, rest.find(' '));
    if (path.ends_with(ending)) return true;
    rest.remove_prefix(std::min(rest.size(), ending.size() + 1));
  }
  return false;
}

std::vector<int64_t> storage_order(IntList sizes, IntList strides) {
  std::vector<int64_t> order(sizes.size()), moved;
  std::iota(order.begin(), order.end(), 0);
  std::ranges::copy_if(order, std::back_inserter(moved), [&](int64_t d) { return sizes[size_t(d)] != 1; });
  std::ranges::stable_sort(moved, std::greater(), [&](int64_t d) { return strides[size_t(d)]; });
  auto next = moved.begin();
  for (int64_t& d : order)
    if (sizes[size_t(d)] != 1) d = *next++;
  return std::ranges::is_sorted(order) ? std::vector<int64_t>() : order;
}
std::shared_ptr<TensorFile> in_memory(const NamedTensors& tensors) { return std::make_shared<InMemory>(tensors); }

const FileWriter& writer_of(const std::string& path, const std::string& kind) {
  std::vector<std::string> kinds, endings;
  for (const FileWriter* w : kWriters) {
    if (kind.empty() ? has_ending(path, w->endings) : kind == w->name) return *w;
    kinds.push_back(w->name);
    endings.push_back(w->endings);
  }
  std::error_code ignored;
  if (kind.empty() && (path.ends_with('/') || std::filesystem::is_directory(path, ignored))) return *kWriters[0];
  if (!kind.empty())
    fail<ValueError>("save: unknown kind {}; those that are written are {}", quote_name(kind), join(kinds, ", "));
  fail<ValueError>("save: which kind of file? {} ends in none of {}; choose another name, or give a kind", quote_name(path),
                   join(endings, ", "));
}

std::string save(const std::string& path, const TensorFile& source, const SaveOptions& options) {
  const FileWriter& writer = writer_of(path, options.kind);
  std::error_code ignored;
  if (!path.ends_with('/') && !std::filesystem::is_directory(path, ignored)) return writer.save(path, source, options);
  std::filesystem::create_directories(path, ignored);
  return writer.save((std::filesystem::path(path) / writer.in_folder).native(), source, options);
}

std::string save(const std::string& path, const NamedTensors& tensors, const SaveOptions& options) {
  return save(path, *in_memory(tensors), options);
}

}  // namespace dyadic::inline v1::io
