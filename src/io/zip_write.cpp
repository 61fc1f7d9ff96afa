// Writing zip archives. An entry's header is written before its content and put right after it.
#include <zlib.h>

#include <algorithm>

#include "base/check.h"
#include "io/bad_file.h"
#include "io/zip.h"

namespace dyadic::inline v1::io {
namespace {

constexpr uint64_t kAlignment = 64;

class Bytes {
  std::string out_;

 public:
  explicit Bytes(std::string_view signature) : out_(signature) {}
  Bytes& put(uint64_t n, int width) {
    for (int i = 0; i < width; ++i) out_ += char(n >> 8 * i & 255);
    return *this;
  }
  Bytes& put(std::string_view text) {
    out_ += text;
    return *this;
  }
  const std::string& str() const { return out_; }
};

constexpr uint64_t kDate = 33;  // the first of January 1980: equal contents make equal files
constexpr uint64_t kUtf8 = 1 << 11;

// Of an entry; a wide one has its sizes in an extra field. `padding`: bytes of another extra field, none or at least 4, as
// PyTorch makes them.
std::string local(const ZipEntry& e, bool wide, uint64_t padding) {
  Bytes b("PK\x03\x04");
  b.put(wide ? 45 : 20, 2).put(kUtf8, 2).put(e.method, 2).put(0, 2).put(kDate, 2).put(e.crc, 4);
  b.put(wide ? 0xffffffff : e.packed, 4).put(wide ? 0xffffffff : e.size, 4);
  b.put(e.name.size(), 2).put((wide ? 20 : 0) + padding, 2).put(e.name);
  if (wide) b.put(1, 2).put(16, 2).put(e.size, 8).put(e.packed, 8);
  if (padding) b.put("FB").put(padding - 4, 2).put(std::string(padding - 4, 'Z'));
  return b.str();
}

}  // namespace

ZipWriter::ZipWriter(std::string who, std::string path, uint64_t wide_from)
    : file_(std::move(who), std::move(path)), wide_from_(wide_from) {}

void ZipWriter::put(std::string_view bytes) {
  file_.write(bytes.data(), bytes.size());
  at_ += bytes.size();
}

void ZipWriter::add(const std::string& name, std::initializer_list<std::string_view> pieces, bool deflated) {
  DY_CHECK_AS(ValueError, name.size() <= 0xffff, "zip: a name of {} bytes; 65535 is the most", name.size());
  // Tools that unpack an archive write what its names say. Readers here never do, and take such names for names.
  const bool outside = name.starts_with('/') || name.find_first_of(std::string_view("\\\0", 2)) != name.npos ||
                       ("/" + name + "/").find("/../") != std::string::npos || name.find(':') == 1;
  DY_CHECK_AS(ValueError, !outside, "zip: the name {} would lie outside of the folder that it is unpacked in; rename it",
              quote_name(name));
  ZipEntry e;
  e.name = name;
  e.method = deflated ? 8 : 0;
  for (std::string_view p : pieces)
    if (!p.empty()) e.size += p.size(), e.crc = uint32_t(crc32_z(e.crc, reinterpret_cast<const Bytef*>(p.data()), p.size()));
  const bool wide = e.size >= wide_from_ - wide_from_ / 16;  // deflate makes some contents longer
  uint64_t padding = 0;
  if (!deflated)
    if (const uint64_t over = (at_ + kZipLocal + name.size() + (wide ? 20 : 0)) % kAlignment) padding = kAlignment - over;
  if (padding && padding < 4) padding += kAlignment;
  const uint64_t header = at_;
  if (!deflated) e.packed = e.size;
  put(local(e, wide, padding));
  e.begin = at_;
  if (deflated) {
    deflate(pieces);
    e.packed = at_ - e.begin;
    const std::string right = local(e, wide, padding);
    file_.write_at(header, right.data(), right.size());
  } else {
    for (std::string_view p : pieces) put(p);
  }
  entries_.push_back(std::move(e));
  headers_.push_back(header);
}

void ZipWriter::deflate(std::initializer_list<std::string_view> pieces) {
  z_stream z{};
  if (deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) fail("zip: zlib has no memory");
  struct End {
    z_stream* z;
    ~End() { deflateEnd(z); }
  } end{&z};
  std::string out(size_t(1) << 18, '\0');
  const auto run = [&](std::string_view in, int flush) {
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    z.avail_in = uInt(in.size());
    do {
      z.next_out = reinterpret_cast<Bytef*>(out.data());
      z.avail_out = uInt(out.size());
      ::deflate(&z, flush);
      put(std::string_view(out).substr(0, out.size() - z.avail_out));
    } while (z.avail_out == 0);
  };
  for (std::string_view p : pieces)
    for (; !p.empty(); p.remove_prefix(std::min(p.size(), size_t(1) << 30))) run(p.substr(0, size_t(1) << 30), Z_NO_FLUSH);
  run({}, Z_FINISH);
}

std::string ZipWriter::central(const ZipEntry& e, uint64_t header) const {
  const bool wide = e.size >= wide_from_ || e.packed >= wide_from_ || header >= wide_from_;
  Bytes b("PK\x01\x02");
  b.put(wide ? 45 : 20, 2).put(wide ? 45 : 20, 2).put(kUtf8, 2).put(e.method, 2).put(0, 2).put(kDate, 2).put(e.crc, 4);
  b.put(wide ? 0xffffffff : e.packed, 4).put(wide ? 0xffffffff : e.size, 4).put(e.name.size(), 2).put(wide ? 28 : 0, 2);
  b.put(0, 2).put(0, 2).put(0, 2).put(0, 4).put(wide ? 0xffffffff : header, 4).put(e.name);
  if (wide) b.put(1, 2).put(24, 2).put(e.size, 8).put(e.packed, 8).put(header, 8);
  return b.str();
}

void ZipWriter::commit() {
  const uint64_t begin = at_, count = entries_.size();
  for (size_t i = 0; i < entries_.size(); ++i) put(central(entries_[i], headers_[i]));
  const uint64_t bytes = at_ - begin, end = at_;
  const bool wide = count >= std::min<uint64_t>(wide_from_, 0xffff) || begin >= wide_from_ || bytes >= wide_from_;
  if (wide) {
    Bytes b("PK\x06\x06");
    b.put(44, 8).put(45, 2).put(45, 2).put(0, 4).put(0, 4).put(count, 8).put(count, 8).put(bytes, 8).put(begin, 8);
    b.put("PK\x06\x07").put(0, 4).put(end, 8).put(1, 4);
    put(b.str());
  }
  Bytes b("PK\x05\x06");
  b.put(0, 2).put(0, 2).put(wide ? 0xffff : count, 2).put(wide ? 0xffff : count, 2);
  put(b.put(wide ? 0xffffffff : bytes, 4).put(wide ? 0xffffffff : begin, 4).put(0, 2).str());
  file_.commit();
}

}  // namespace dyadic::inline v1::io
