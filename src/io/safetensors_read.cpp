// Reading safetensors: every array goes from the file straight into its tensor. (Not mapped: a file that shrinks while it is
// mapped ends the process with SIGBUS, and parameters are written to in training anyway.)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "base/sha256.h"
#include "formats/packed.h"
#include "io/safetensors.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

using nlohmann::json;

class File {
  int fd_ = -1;
  std::string path_;

 public:
  uint64_t size = 0;
  explicit File(const std::string& path) : path_(path) {
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not hang here
    struct stat s;
    if (fd_ < 0 || fstat(fd_, &s) != 0) {
      int error = errno;
      if (fd_ >= 0) close(fd_);
      fail("{}: cannot be read: {}", path, std::strerror(error));
    }
    if (!S_ISREG(s.st_mode)) {
      close(fd_);
      fail("{}: cannot be read: it is {}", path, S_ISDIR(s.st_mode) ? "a folder" : "not a regular file");
    }
    size = uint64_t(s.st_size);
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  void read(void* target, uint64_t offset, size_t n) const {
    constexpr size_t kPiece = size_t(1) << 28;
    auto* p = static_cast<char*>(target);
    while (n > 0) {
      ssize_t got = pread(fd_, p, std::min(n, kPiece), off_t(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail("{}: cannot be read: {}", path_, std::strerror(errno));
      if (got == 0) bad(path_, "it became shorter while it was read");
      p += got;
      offset += uint64_t(got);
      n -= size_t(got);
    }
  }
};

// The header's bytes with the checksum's digits blanked, as they were hashed; the digits themselves go to `digits`.
std::string blank_seal(std::string text, const std::string& file, std::string& digits) {
  const std::string key = fmt::format("\"{}\":\"", kSealKey);
  size_t at = text.find(key);
  if (at == text.npos || text.size() - at - key.size() < kSealDigits) bad(file, "its checksum is missing");
  digits = text.substr(at + key.size(), kSealDigits);
  text.replace(at + key.size(), kSealDigits, kSealDigits, '0');
  return text;
}

// Builds the tensors of a header and says where each entry's bytes go.
class Builder {
  const std::string& file_;
  const Header& header_;
  std::unordered_map<std::string, size_t> by_name_;
  std::vector<void*> targets_;
  std::unordered_map<size_t, std::pair<std::string, Tensor>> scaled_;  // by the first plane's entry
  std::vector<bool> plane_;

 public:
  Builder(const std::string& file, const Header& header)
      : file_(file), header_(header), targets_(header.entries.size()), plane_(header.entries.size()) {
    for (size_t i = 0; i < header.entries.size(); ++i) by_name_[header.entries[i].name] = i;
  }

  void scaled(const std::string& text) {
    json all = parse(text);
    if (!all.is_object()) bad(file_, "metadata: {} is not an object", kScaledKey);
    for (auto& [name, what] : all.items()) scaled_tensor(name, what);
  }
  NamedTensors finish() {
    NamedTensors out;
    for (size_t i = 0; i < header_.entries.size(); ++i) {
      if (auto it = scaled_.find(i); it != scaled_.end()) out.push_back(std::move(it->second));
      if (plane_[i]) continue;
      const Entry& e = header_.entries[i];
      Tensor t = make_tensor(e.shape, dtype_of_file(e.dtype), cpu);
      targets_[i] = t.impl()->data();
      out.emplace_back(e.name, std::move(t));
    }
    return out;
  }
  void* target(size_t entry) const { return targets_[entry]; }

 private:
  json parse(const std::string& text) const {
    try {
      return json::parse(text, [](int depth, json::parse_event_t, json&) {
        if (depth > 8) throw ValueError("too deep");
        return true;
      });
    } catch (const std::exception&) { bad(file_, "metadata: {} is not JSON of the expected form", kScaledKey); }
  }
  [[noreturn]] void wrong(const std::string& name, const std::string& why) const {
    bad(file_, "tensor {}: {}", quote_name(name), why);
  }

  std::vector<int64_t> list(const std::string& name, const json& what, const char* key) const {
    std::vector<int64_t> out;
    auto it = what.find(key);
    if (it == what.end() || !it->is_array()) wrong(name, fmt::format("the list {} is missing in {}", key, kScaledKey));
    for (const json& v : *it) {
      if (!v.is_number_integer() || v > (int64_t(1) << 56) || v < 0)
        wrong(name, fmt::format("{} holds something that is no size", key));
      out.push_back(v.get<int64_t>());
    }
    if (out.size() > kMaxDims) wrong(name, fmt::format("{}: more than {} dimensions", key, kMaxDims));
    return out;
  }
  int64_t count(const std::string& name, const json& what, const char* key) const {
    auto it = what.find(key);
    if (it == what.end() || !it->is_number_integer() || *it < 0 || *it > (int64_t(1) << 56))
      wrong(name, fmt::format("{} is missing or no size in {}", key, kScaledKey));
    return it->get<int64_t>();
  }

  void scaled_tensor(const std::string& name, const json& what) {
    if (!what.is_object()) wrong(name, fmt::format("its entry of {} is not an object", kScaledKey));
    auto text = what.find("dtype");
    if (text == what.end() || !text->is_string()) wrong(name, fmt::format("dtype is missing in {}", kScaledKey));
    if (by_name_.count(name)) wrong(name, "it is both a plain and a scaled tensor");
    int64_t rows = count(name, what, "rows"), cols = count(name, what, "cols");
    std::vector<int64_t> shape = list(name, what, "shape"), dims;
    if (what.contains("permute")) dims = list(name, what, "permute");
    Tensor t;
    try {
      DType d = DType::parse(text->get<std::string>());
      if (!d.is_blocked()) wrong(name, fmt::format("{} is not a blocked dtype", d.name()));
      t = storage(name, d, rows, cols);
      t = seen_as(name, t, shape, what.contains("permute") ? &dims : nullptr);
    } catch (const BadFile&) { throw; } catch (const OutOfMemoryError&) {
      throw;
    } catch (const Error& e) {  // the dtype's text, sizes its blocks don't allow
      wrong(name, e.what());
    }
    scaled_[first_plane_] = {name, t};
  }

  size_t first_plane_ = 0;

  // The storage itself, after its planes were found in the file: nothing is allocated that the file does not fill.
  Tensor storage(const std::string& name, DType d, int64_t rows, int64_t cols) {
    const Format& f = *d.format();
    int64_t most = int64_t(1) << 56, numel;
    if (__builtin_mul_overflow(std::max<int64_t>(rows, 1), std::max<int64_t>(cols, 1), &numel) || numel > most)
      wrong(name, "rows times cols is too large");
    // make_tensor's own geometry has no rows where a row is empty.
    if (cols == 0 && rows != 0) wrong(name, "rows of no elements");
    PlaneList planes = planes_of(f, {rows, cols});
    std::vector<size_t> found;
    for (int k = 0; k < planes.count; ++k) {
      const Plane& p = planes.plane[size_t(k)];
      std::string full = name + "." + p.name;
      auto it = by_name_.find(full);
      if (it == by_name_.end()) wrong(name, fmt::format("its {} are missing", p.name));
      const Entry& e = header_.entries[it->second];
      int64_t item = p.dtype->itemsize();
      if (dtype_of_file(e.dtype).format() != p.dtype || e.shape.size() != 1 || e.shape[0] != p.bytes / item)
        wrong(name, fmt::format("its {} are {} [{}]; {} [{}, {}] has {} [{}]", p.name, e.dtype, fmt::join(e.shape, ", "),
                                d.name(), rows, cols, file_dtype(DType(p.dtype)), p.bytes / item));
      if (plane_[it->second]) wrong(name, fmt::format("its {} belong to another tensor too", p.name));
      found.push_back(it->second);
    }
    Tensor t = make_tensor({rows, cols}, d, cpu);
    char* data = static_cast<char*>(t.impl()->storage->data);
    if (planes.buffer_bytes > 0)
      std::memset(data, 0, size_t(planes.buffer_bytes));  // gaps between planes too: same bits always
    first_plane_ = *std::min_element(found.begin(), found.end());
    for (size_t k = 0; k < found.size(); ++k) plane_[found[k]] = true, targets_[found[k]] = data + planes.plane[k].offset;
    return t;
  }

  Tensor seen_as(const std::string& name, const Tensor& t, const std::vector<int64_t>& shape,
                 const std::vector<int64_t>* dims) const {
    int64_t n = 1, numel = t.numel();
    std::vector<int64_t> strides(shape.size());
    for (size_t d = shape.size(); d-- > 0;) {
      strides[d] = n;
      if (__builtin_mul_overflow(n, std::max<int64_t>(shape[d], 1), &n) || n > int64_t(1) << 56)
        wrong(name, "shape: too large");
    }
    for (int64_t s : shape) n = s ? n : 0;
    if (n != numel) wrong(name, fmt::format("shape [{}] does not make {} elements", fmt::join(shape, ", "), numel));
    if (!dims) return make_view(t, shape, strides, 0);
    std::vector<int64_t> sizes, steps;
    std::vector<bool> used(shape.size());
    for (int64_t d : *dims) {
      if (d >= int64_t(shape.size()) || used[size_t(d)])
        wrong(name, fmt::format("permute [{}] is no permutation", fmt::join(*dims, ", ")));
      used[size_t(d)] = true;
      sizes.push_back(shape[size_t(d)]);
      steps.push_back(strides[size_t(d)]);
    }
    if (sizes.size() != shape.size()) wrong(name, fmt::format("permute [{}] is no permutation", fmt::join(*dims, ", ")));
    return make_view(t, sizes, steps, 0);
  }
};

// Our own metadata: its version is checked, what only serves the file is taken out.
void check_version(const Header& h, const std::string& file) {
  auto it = h.metadata.find(kFormatKey);
  if (it == h.metadata.end()) return;
  const std::string& v = it->second;
  int version = 0;
  auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), version);
  if (error != std::errc() || end != v.data() + v.size() || version < 1)
    bad(file, "metadata: {} is {}, not a version", kFormatKey, quote_name(v));
  if (version > kFormatVersion)
    fail<ValueError>("{}: written by a newer version: its format is {}, this one reads up to {}; update Dyadic", file, version,
                     kFormatVersion);
}

void check_bool(const Entry& e, const void* data, const std::string& file) {
  const auto* p = static_cast<const uint8_t*>(data);
  for (uint64_t i = 0; i < e.end - e.begin; ++i)
    if (p[i] > 1) bad(file, "tensor {}: BOOL byte {} is {}, neither 0 nor 1", quote_name(e.name), i, p[i]);
}

// The header's length as it stands in the file, and the header.
std::string read_header(const Source& source, unsigned char (&prefix)[8]) {
  const std::string& file = source.name;
  if (source.size < 8) bad(file, "too short: {} bytes, the header's length alone takes 8", source.size);
  source.read(prefix, 0, 8);
  if (prefix[0] == 'P' && prefix[1] == 'K')
    bad(file,
        "a zip archive, as PyTorch's torch.save writes; this reads safetensors: convert it in Python, "
        "dyadic.save(dyadic.load(path), path)");
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | prefix[i];
  if (length > kMaxHeader) bad(file, "header: {} bytes long; the limit is {}", length, kMaxHeader);
  if (length > source.size - 8) bad(file, "header: {} bytes long, the file has {} behind its length", length, source.size - 8);
  std::string text(size_t(length), '\0');
  source.read(text.data(), 8, size_t(length));
  return text;
}

}  // namespace

Metadata read_metadata(const std::string& path) {
  File file(path);
  auto read = [&](void* target, uint64_t offset, size_t n) { file.read(target, offset, n); };
  unsigned char prefix[8];
  const std::string text = read_header({path, file.size, read}, prefix);
  return parse_header(text, file.size - 8 - text.size(), path).metadata;
}

std::string read_text(const std::string& path) {
  File file(path);
  if (file.size > kMaxHeader) bad(path, "{} bytes long; the limit is {}", file.size, kMaxHeader);
  std::string text(size_t(file.size), '\0');
  file.read(text.data(), 0, text.size());
  return text;
}

SafeTensors read_safetensors(const Source& source, Seal seal) {
  const std::string& file = source.name;
  unsigned char prefix[8];
  const std::string text = read_header(source, prefix);
  const uint64_t length = text.size();
  std::string digits;
  Header h = parse_header(text, source.size - 8 - length, file);
  Sha256 sum;
  if (seal == Seal::sha256) {
    sum.update(prefix, sizeof prefix);
    sum.update(blank_seal(text, file, digits));
  } else {
    check_version(h, file);
  }
  Builder builder(file, h);
  if (auto it = h.metadata.find(kScaledKey); it != h.metadata.end() && h.metadata.count(kFormatKey)) builder.scaled(it->second);
  SafeTensors out{builder.finish(), h.metadata};
  std::vector<size_t> order(h.entries.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(h.entries[a].begin, a) < std::pair(h.entries[b].begin, b); });
  for (size_t i : order) {
    const Entry& e = h.entries[i];
    auto bytes = size_t(e.end - e.begin);
    if (bytes == 0) continue;
    source.read(builder.target(i), 8 + length + e.begin, bytes);
    if (seal == Seal::sha256) sum.update(builder.target(i), bytes);
    if (e.dtype == "BOOL") check_bool(e, builder.target(i), file);
  }
  if (seal == Seal::sha256) {
    if (sum.hex() != digits) bad(file, "its content does not match its checksum");
    check_version(h, file);
  } else if (h.metadata.count(kFormatKey)) {
    std::erase_if(out.metadata, [](const auto& entry) { return entry.first.starts_with(kReserved); });
  }
  return out;
}

SafeTensors read_safetensors_file(const std::string& path, Seal seal) {
  File file(path);
  auto read = [&](void* target, uint64_t offset, size_t n) { file.read(target, offset, n); };
  return read_safetensors({path, file.size, read}, seal);
}

SafeTensors load_safetensors(const std::string& path) { return read_safetensors_file(path, Seal::none); }

}  // namespace dyadic::inline v1::io
