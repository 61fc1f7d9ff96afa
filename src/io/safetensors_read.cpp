// Reading safetensors: every array goes from the file straight into its tensor, which is to be written to.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "formats/packed.h"
#include "io/safetensors.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::io {
namespace {

class File {
  int fd_ = -1;
  std::string path_;

 public:
  uint64_t size = 0;
  explicit File(const std::string& path) : path_(path) {
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe must not hang here
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

// Builds the tensors of a header and says where each entry's bytes go.
class Builder {
  const Header& header_;
  std::vector<void*> targets_;

 public:
  NamedTensors tensors;
  Builder(const Header& header, const std::string& file) : header_(header), targets_(header.entries.size()) {
    const Layout layout = layout_of(header, file);
    for (const Item& item : layout.items) {
      const Entry& e = header.entries[item.entries[0]];
      Tensor t = item.scaled ? storage_of(*item.scaled) : make_tensor(e.shape, dtype_of_file(e.dtype), cpu);
      if (item.scaled) {
        const PlaneList planes = planes_of(*item.scaled->dtype.format(), item.scaled->geometry);
        char* data = static_cast<char*>(t.impl()->storage->data);
        for (size_t k = 0; k < item.entries.size(); ++k) targets_[item.entries[k]] = data + planes.plane[k].offset;
        t = seen_as_saved(*item.scaled, t);
      } else {
        targets_[item.entries[0]] = t.impl()->data();
      }
      tensors.emplace_back(item.name, std::move(t));
    }
    for (const Tie& tie : layout.ties) tensors.emplace_back(tie.name, tensors[tie.item].second);
  }
  void* target(size_t entry) const { return targets_[entry]; }
};

// The header's length as it stands in the file, and the header.
std::string read_header(const Source& source, unsigned char (&prefix)[8]) {
  const std::string& file = source.name;
  if (source.size < 8) bad(file, "too short: {} bytes, the header's length alone takes 8", source.size);
  source.read(prefix, 0, 8);
  const uint64_t length = header_length(prefix, source.size, file);
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

SafeTensors read_safetensors(const Source& source) {
  const std::string& file = source.name;
  unsigned char prefix[8];
  const std::string text = read_header(source, prefix);
  const uint64_t length = text.size();
  Header h = parse_header(text, source.size - 8 - length, file);
  check_version(h, file);
  Builder builder(h, file);
  SafeTensors out{std::move(builder.tensors), h.metadata};
  std::vector<size_t> order(h.entries.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(h.entries[a].begin, a) < std::pair(h.entries[b].begin, b); });
  for (size_t i : order) {
    const Entry& e = h.entries[i];
    auto bytes = size_t(e.end - e.begin);
    if (bytes == 0) continue;
    source.read(builder.target(i), 8 + length + e.begin, bytes);
    if (e.dtype == "BOOL") check_bool(e.name, {static_cast<const char*>(builder.target(i)), bytes}, file);
  }
  if (h.metadata.count(kFormatKey))
    std::erase_if(out.metadata, [](const auto& entry) { return entry.first.starts_with(kReserved); });
  return out;
}

SafeTensors load_safetensors(const std::string& path) {
  File file(path);
  auto read = [&](void* target, uint64_t offset, size_t n) { file.read(target, offset, n); };
  return read_safetensors({path, file.size, read});
}

}  // namespace dyadic::inline v1::io
