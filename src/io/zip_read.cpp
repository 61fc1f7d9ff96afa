// Reading zip archives. The directory at the file's end is what counts; an entry's own header only says where its bytes begin.
#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "io/bad_file.h"
#include "io/zip.h"

namespace dyadic::inline v1::io {
namespace {

constexpr uint64_t kEnd = 22, kEntry = 46, kWideEnd = 56, kLocator = 20;
constexpr uint64_t kMostRatio = 1032;  // of deflate: 258 bytes from two bits

uint64_t number(std::string_view bytes, uint64_t at, int width) {
  uint64_t n = 0;
  for (int i = width; i-- > 0;) n = n << 8 | uint8_t(bytes[at + uint64_t(i)]);
  return n;
}
bool signature(std::string_view bytes, uint64_t at, std::string_view two) {
  return at <= bytes.size() && bytes.size() - at >= 4 && bytes.substr(at, 2) == "PK" && bytes.substr(at + 2, 2) == two;
}

// The directory's place and the number of its entries.
struct Directory {
  uint64_t count, bytes, begin;
};

Directory find_directory(const std::string& path, std::string_view file) {
  if (file.size() < kEnd) bad(path, "a zip archive of {} bytes; its end alone takes {}", file.size(), kEnd);
  const uint64_t last = file.size() - kEnd, first = last > 0xffff ? last - 0xffff : 0;
  for (uint64_t at = last + 1; at-- > first;) {
    if (!signature(file, at, "\x05\x06") || at + kEnd + number(file, at + 20, 2) != file.size()) continue;
    Directory d{number(file, at + 10, 2), number(file, at + 12, 4), number(file, at + 16, 4)};
    if (number(file, at + 4, 2) != number(file, at + 6, 2)) bad(path, "a zip archive in several parts");
    if (at < kLocator || !signature(file, at - kLocator, "\x06\x07")) return d;
    const uint64_t wide = number(file, at - kLocator + 8, 8);
    if (file.size() < kWideEnd || wide > file.size() - kWideEnd || !signature(file, wide, "\x06\x06"))
      bad(path, "byte {}: the zip archive's 64-bit end is not there", wide);
    return {number(file, wide + 32, 8), number(file, wide + 40, 8), number(file, wide + 48, 8)};
  }
  bad(path, "a zip archive without its directory: it is cut, or was not written to its end");
}

// Sizes of 64 bits stand in an extra field, each only where the plain one is full.
void widen(const std::string& path, std::string_view extra, ZipEntry& e, uint64_t& header) {
  for (uint64_t at = 0; extra.size() - at >= 4;) {
    const uint64_t id = number(extra, at, 2), length = number(extra, at + 2, 2);
    if (length > extra.size() - at - 4) return;
    if (id == 1) {
      uint64_t next = at + 4, end = next + length;
      for (uint64_t* value : {&e.size, &e.packed, &header}) {
        if (*value != 0xffffffff) continue;
        if (end - next < 8) bad(path, "entry {}: a 64-bit size is missing", quote_name(e.name));
        *value = number(extra, next, 8);
        next += 8;
      }
    }
    at += 4 + length;
  }
}

// The first `most` bytes of an entry's content, or all of them. What makes more than it says is damaged.
void inflate_to(const std::string& path, const ZipEntry& e, std::string_view packed, void* target, uint64_t most) {
  z_stream z{};
  if (inflateInit2(&z, -15) != Z_OK) fail("{}: zlib has no memory", path);
  struct End {
    z_stream* z;
    ~End() { inflateEnd(z); }
  } end{&z};
  constexpr uint64_t kPiece = 1 << 30;
  uint64_t in = 0, out = 0;
  int code = Z_OK;
  Bytef beyond = 0;  // where bytes go that should not be
  while (code == Z_OK && (most == e.size || out < most)) {
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + in));
    z.avail_in = uInt(std::min(packed.size() - in, kPiece));
    z.next_out = out < most ? static_cast<Bytef*>(target) + out : &beyond;
    z.avail_out = out < most ? uInt(std::min(most - out, kPiece)) : 1;
    const uInt in_before = z.avail_in, out_before = z.avail_out;
    code = inflate(&z, Z_NO_FLUSH);
    in += in_before - z.avail_in;
    out += out_before - z.avail_out;
    if (out > most) break;
  }
  if (out != most || (most == e.size && code != Z_STREAM_END))
    bad(path, "entry {}: its compressed bytes, from byte {} on, are damaged: they make {} bytes of {}", quote_name(e.name),
        e.begin, out, e.size);
}

}  // namespace

bool ZipFile::begins(std::string_view bytes) { return signature(bytes, 0, "\x03\x04") || signature(bytes, 0, "\x05\x06"); }

ZipFile::ZipFile(std::string path, std::string_view bytes) : path_(std::move(path)), bytes_(bytes) {
  read_directory();
  check_places();
  for (size_t i = 0; i < entries_.size(); ++i)
    if (!by_name_.emplace(entries_[i].name, i).second) bad(path_, "entry {} is there twice", quote_name(entries_[i].name));
}

void ZipFile::read_directory() {
  const Directory d = find_directory(path_, bytes_);
  if (d.begin > bytes_.size() || d.bytes > bytes_.size() - d.begin)
    bad(path_, "the zip archive's directory is bytes {} to {}, the file has {}", d.begin, d.begin + d.bytes, bytes_.size());
  if (d.count > d.bytes / kEntry) bad(path_, "the zip archive's directory is too short for {} entries", d.count);
  const std::string_view all = bytes_.substr(d.begin, d.bytes);
  entries_.reserve(d.count);
  uint64_t at = 0;
  for (uint64_t i = 0; i < d.count; ++i) {
    if (all.size() - at < kEntry || !signature(all, at, "\x01\x02"))
      bad(path_, "byte {}: entry {} of the zip archive's directory is not there", d.begin + at, i);
    const uint64_t name = number(all, at + 28, 2), extra = number(all, at + 30, 2), comment = number(all, at + 32, 2);
    if (all.size() - at - kEntry < name + extra + comment) bad(path_, "byte {}: a name in the directory is cut", d.begin + at);
    ZipEntry e;
    e.name = all.substr(at + kEntry, name);
    e.method = uint16_t(number(all, at + 10, 2));
    e.crc = uint32_t(number(all, at + 16, 4));
    e.packed = number(all, at + 20, 4);
    e.size = number(all, at + 24, 4);
    uint64_t header = number(all, at + 42, 4);
    widen(path_, all.substr(at + kEntry + name, extra), e, header);
    const std::string shown = quote_name(e.name);
    if (number(all, at + 8, 2) & 1) bad(path_, "entry {} is encrypted", shown);
    if (e.method != 0 && e.method != 8)
      bad(path_, "entry {} is compressed by method {}; stored and deflated ones are read", shown, e.method);
    if (header > bytes_.size() || bytes_.size() - header < kZipLocal || !signature(bytes_, header, "\x03\x04"))
      bad(path_, "entry {}: its header is not at byte {}", shown, header);
    e.begin = header + kZipLocal + number(bytes_, header + 26, 2) + number(bytes_, header + 28, 2);
    if (e.begin > bytes_.size() || e.packed > bytes_.size() - e.begin)
      bad(path_, "entry {}: it has {} bytes from byte {} on, the file has {}", shown, e.packed, e.begin, bytes_.size());
    if (e.method == 0 ? e.size != e.packed : e.size / kMostRatio > e.packed)
      bad(path_, "entry {}: {} bytes cannot be {}", shown, e.packed, e.size);
    entries_.push_back(std::move(e));
    at += kEntry + name + extra + comment;
  }
}

// Entries over one another are how small files become large ones.
void ZipFile::check_places() {
  std::vector<const ZipEntry*> order;
  for (const ZipEntry& e : entries_)
    if (e.packed) order.push_back(&e);
  std::ranges::sort(order, {}, &ZipEntry::begin);
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i]->begin < order[i - 1]->begin + order[i - 1]->packed)
      bad(path_, "entries {} and {} overlap at byte {}", quote_name(order[i - 1]->name), quote_name(order[i]->name),
          order[i]->begin);
}

const ZipEntry* ZipFile::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &entries_[it->second];
}

void ZipFile::read(const ZipEntry& e, void* target, Checksum checksum) const {
  const std::string_view packed = bytes_.substr(e.begin, e.packed);
  if (e.method == 8) inflate_to(path_, e, packed, target, e.size);
  if (e.method == 0 && e.size) std::memcpy(target, packed.data(), e.size);
  if (checksum == Checksum::checked) check_sum(e, target);
}

std::string ZipFile::begin_of(const ZipEntry& e, uint64_t most) const {
  const std::string_view packed = bytes_.substr(e.begin, e.packed);
  most = std::min(most, e.size);
  if (e.method == 0) return std::string(packed.substr(0, most));
  std::string out(most, '\0');
  inflate_to(path_, e, packed, out.data(), most);
  return out;
}

void ZipFile::check(const ZipEntry& e) const { check_sum(e, bytes_.substr(e.begin, e.packed).data()); }

void ZipFile::check_sum(const ZipEntry& e, const void* content) const {
  const auto crc = uint32_t(crc32_z(0, static_cast<const Bytef*>(e.size ? content : ""), e.size));
  if (crc != e.crc)
    bad(path_, "entry {}, from byte {} on: it is damaged: its checksum is {:08x}, not {:08x}", quote_name(e.name), e.begin, crc,
        e.crc);
}

std::string ZipFile::read(const ZipEntry& e, Checksum checksum) const {
  std::string out(e.size, '\0');
  read(e, out.data(), checksum);
  return out;
}

}  // namespace dyadic::inline v1::io
