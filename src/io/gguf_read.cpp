// GGUF files as files of tensors: one file or the parts of a split one, whose first part has the metadata.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "base/text.h"
#include "io/gguf.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {

struct GgufFile::State {
  struct Part {
    std::shared_ptr<const MappedFile> file;
    GgufHeader header;
  };
  std::vector<Part> parts;
  std::vector<TensorInfo> tensors;
  std::vector<std::pair<uint32_t, uint32_t>> places;  // part and number in it

  GgufCursor at(const GgufKey& key) const {
    GgufCursor cursor(parts[0].file->bytes(), parts[0].file->path(), key.offset);
    cursor.enter("key", key.name);
    return cursor;
  }
};

namespace {

constexpr int64_t kMaxParts = 65535;  // split.no has 16 bits

// The value of a key that is of an integer type; an array is not.
int64_t whole(GgufCursor& at, const GgufKey& key) {
  return with_gguf_type(key.type, [&](auto type) -> int64_t {
    using T = typename decltype(type)::type;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const T v = at.number<T>();
      if (!std::in_range<int64_t>(v)) at.wrong("{} is too large", v);
      return int64_t(v);
    } else {
      at.wrong("it is of type {}, not an integer", gguf_type_name(key.type));
    }
  });
}

}  // namespace

std::string gguf_part_path(const std::string& stem, int64_t part, int64_t parts) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", stem, part + 1, parts);
}

// Opens the first part, then the others beside it: their names follow from its own, never from what is in a file.
struct GgufOpener {
  using State = GgufFile::State;
  static State::Part open(std::shared_ptr<const MappedFile> file) {
    GgufHeader header = parse_gguf(file->bytes(), file->path());
    return {std::move(file), std::move(header)};
  }
  static std::optional<int64_t> integer(const State::Part& part, std::string_view name) {
    for (const GgufKey& key : part.header.keys) {
      if (key.name != name) continue;
      GgufCursor at(part.file->bytes(), part.file->path(), key.offset);
      at.enter("key", key.name);
      return whole(at, key);
    }
    return std::nullopt;
  }

  static std::shared_ptr<GgufFile> all(std::shared_ptr<const MappedFile> file) {
    auto state = std::make_unique<State>();
    const std::string path = file->path();
    state->parts.push_back(open(std::move(file)));
    const int64_t parts = integer(state->parts[0], "split.count").value_or(1);
    if (parts < 1 || parts > kMaxParts) bad(path, "key \"split.count\": {} is no number of parts", parts);
    if (parts > 1) others(*state, path, parts);
    std::vector<std::string_view> names;
    for (const State::Part& p : state->parts)
      for (const GgufTensor& t : p.header.tensors) {
        const GgmlType* type = find_ggml_type(t.type);
        state->places.emplace_back(uint32_t(&p - state->parts.data()), uint32_t(&t - p.header.tensors.data()));
        state->tensors.push_back(
            {t.name, type ? type->dtype : DType(), type ? type->name : fmt::format("type {}", t.type), t.shape, t.bytes});
        names.push_back(t.name);
      }
    std::sort(names.begin(), names.end());
    if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
      bad(path, "tensor {}: two parts have it", quote_name(*twice));
    if (const auto n = integer(state->parts[0], "split.tensors.count"); parts > 1 && n && *n != int64_t(names.size()))
      bad(path, "its parts have {} tensors, key \"split.tensors.count\" says {}", names.size(), *n);
    return std::shared_ptr<GgufFile>(new GgufFile(path, std::move(state)));
  }

  static void others(State& state, const std::string& path, int64_t parts) {
    const int64_t part = integer(state.parts[0], "split.no").value_or(0);
    const std::string ending = gguf_part_path("", part, parts);
    if (!path.ends_with(ending))
      bad(path, "it is part {} of {}, so its name must end in {}; give it its name back", part + 1, parts, ending);
    const std::string stem = path.substr(0, path.size() - ending.size());
    if (part != 0) bad(path, "it is part {} of {}; open the first, {}", part + 1, parts, gguf_part_path(stem, 0, parts));
    for (int64_t i = 1; i < parts; ++i) {
      const std::string name = gguf_part_path(stem, i, parts);
      state.parts.push_back(open(MappedFile::open(name)));
      const int64_t no = integer(state.parts.back(), "split.no").value_or(-1);
      const int64_t count = integer(state.parts.back(), "split.count").value_or(-1);
      if (no != i || count != parts)
        bad(name, "it is not part {} of {}: \"split.no\" is {}, \"split.count\" {}", i + 1, parts, no, count);
    }
  }
};

GgufFile::GgufFile(std::string path, std::unique_ptr<const State> state)
    : TensorFile(std::move(path)), state_(std::move(state)) {}
GgufFile::~GgufFile() = default;
std::shared_ptr<GgufFile> GgufFile::open(const std::string& path) { return GgufOpener::all(MappedFile::open(path)); }

std::shared_ptr<GgufFile> GgufFile::find(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  bool there = false;
  if (fs::is_directory(path, error)) {
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error))
      there = there || it->path().extension() == ".gguf";
  } else {
    char magic[4] = {};
    std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
    there = std::string_view(magic, sizeof magic) == "GGUF";
  }
  return there ? std::dynamic_pointer_cast<GgufFile>(io::open(path)) : nullptr;
}

const std::vector<TensorInfo>& GgufFile::tensors() const { return state_->tensors; }
uint32_t GgufFile::version() const { return state_->parts[0].header.version; }
uint64_t GgufFile::alignment() const { return state_->parts[0].header.alignment; }
const std::vector<GgufKey>& GgufFile::keys() const { return state_->parts[0].header.keys; }
std::string GgufFile::metadata() const { return gguf_json(state_->parts[0].file->bytes(), path(), keys()); }

// Bytes of a tensor from its `skip`th on, in a shape of their own.
Tensor GgufFile::read(size_t i, std::vector<int64_t> shape, uint64_t skip, uint64_t bytes) const {
  const auto [part, number] = state_->places[i];
  const MappedFile& file = *state_->parts[part].file;
  const GgufTensor& t = state_->parts[part].header.tensors[number];
  const TensorInfo& info = state_->tensors[i];
  if (!info.dtype) bad(file.path(), "tensor {}: ggml's {} is no dtype here", quote_name(t.name), info.stored);
  if (t.type != kNvfp4) return file.tensor(t.name, info.dtype, shape, t.offset + skip, bytes);
  return read_nvfp4(file.bytes().data() + t.offset + skip, shape,
                    [&](const std::string& why) { bad(file.path(), "tensor {}: {}", quote_name(t.name), why); });
}
Tensor GgufFile::get(size_t i) const {
  DY_CHECK_AS(IndexError, i < tensors().size(), "{}: no tensor {}: there are {}", path(), i, tensors().size());
  return read(i, tensors()[i].shape, 0, tensors()[i].bytes);
}
Tensor GgufFile::get_part(size_t i, int64_t k) const {
  DY_CHECK_AS(IndexError, i < tensors().size(), "{}: no tensor {}: there are {}", path(), i, tensors().size());
  const TensorInfo& t = tensors()[i];
  DY_CHECK_AS(IndexError, t.shape.size() == 3 && k >= 0 && k < t.shape[0], "{}: tensor {}: no part {} of {}", path(),
              quote_name(t.name), k, shape_text(t.shape));
  const uint64_t each = t.bytes / uint64_t(t.shape[0]);
  return read(i, {t.shape[1], t.shape[2]}, uint64_t(k) * each, each);
}

bool GgufFile::has_key(std::string_view key) const {
  return std::any_of(keys().begin(), keys().end(), [&](const GgufKey& k) { return k.name == key; });
}
const GgufKey& GgufFile::find(std::string_view key) const {
  for (const GgufKey& k : keys())
    if (k.name == key) return k;
  std::vector<std::string_view> names;
  for (const GgufKey& k : keys()) names.push_back(k.name);
  fail<ValueError>("{}: no key {}{}", path(), quote_name(key), names.empty() ? "" : "; nearest there: " + nearest(key, names));
}

GgufValue GgufFile::value(std::string_view key) const {
  const GgufKey& k = find(key);
  GgufCursor at = state_->at(k);
  return read_gguf_value(at, k);
}
GgufMetadata GgufFile::values() const {
  GgufMetadata all;
  for (const GgufKey& k : keys()) all.emplace_back(k.name, value(k.name));
  return all;
}

int64_t GgufFile::integer(std::string_view key) const {
  const GgufKey& k = find(key);
  GgufCursor at = state_->at(k);
  return whole(at, k);
}
double GgufFile::number(std::string_view key) const {
  const GgufKey& k = find(key);
  GgufCursor at = state_->at(k);
  if (k.type == GgufType::f32) return at.number<float>();
  if (k.type == GgufType::f64) return at.number<double>();
  return double(whole(at, k));
}
std::string GgufFile::text(std::string_view key) const {
  const GgufKey& k = find(key);
  GgufCursor at = state_->at(k);
  if (k.type != GgufType::string) at.wrong("it is of type {}, not a string", gguf_type_name(k.type));
  return std::string(at.text());
}

std::vector<std::string_view> GgufFile::strings(std::string_view key) const {
  const GgufKey& k = find(key);
  GgufCursor at = state_->at(k);
  if (k.type != GgufType::array || k.of != GgufType::string)
    at.wrong("it is not an array of strings but of type {}{}", gguf_type_name(k.type),
             k.type == GgufType::array ? fmt::format(" of {}", gguf_type_name(k.of)) : "");
  std::vector<std::string_view> all;
  all.reserve(size_t(k.count));
  for (uint64_t i = 0; i < k.count; ++i) all.push_back(at.text());
  return all;
}

Tensor GgufFile::numbers(std::string_view key) const {
  const GgufKey& k = find(key);
  GgufCursor at = state_->at(k);
  static constexpr DType kDtypes[] = {u8, i8, u16, i16, u32, i32, f32, boolean, {}, {}, u64, i64, f64};
  const DType dtype = kDtypes[uint32_t(k.of)];
  if (k.type != GgufType::array || !dtype)
    at.wrong("it is not an array of numbers but of type {}{}", gguf_type_name(k.type),
             k.type == GgufType::array ? fmt::format(" of {}", gguf_type_name(k.of)) : "");
  const std::string_view bytes = state_->parts[0].file->bytes().substr(k.offset);
  for (uint64_t i = 0; dtype == boolean && i < k.count; ++i)
    if (uint8_t(bytes[i]) > 1) at.wrong("a bool of {}, neither 0 nor 1", uint8_t(bytes[i]));
  return state_->parts[0].file->tensor(key, dtype, {int64_t(k.count)}, k.offset, k.count * uint64_t(dtype.itemsize()));
}

extern constexpr FileKind gguf_files = {
    .name = "gguf",
    .matches = [](const MappedFile& f) { return f.bytes().starts_with("GGUF"); },
    .open = [](std::shared_ptr<const MappedFile> f) -> std::shared_ptr<TensorFile> { return GgufOpener::all(std::move(f)); },
};

}  // namespace dyadic::inline v1::io
