// Zip archives, as far as files of tensors are ones: stored and deflated entries, sizes of any width, one disk, no passwords.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/atomic_file.h"

namespace dyadic::inline v1::io {

inline constexpr uint64_t kZipLocal = 30;  // bytes of a header before its name

struct ZipEntry {
  std::string name;
  uint16_t method = 0;  // 0 stored, 8 deflated
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0;  // bytes in the file; bytes of the content
  uint64_t begin = 0;             // of the packed bytes
};

// The directory of an archive in memory. Everything is checked when it is opened: entries lie within the file, none over
// another, and no size is larger than what deflate can make of the bytes that are there. ValueError "<path>: ...".
class ZipFile {
  std::string path_;
  std::string_view bytes_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string_view, size_t> by_name_;

 public:
  ZipFile(std::string path, std::string_view bytes);
  ZipFile(const ZipFile&) = delete;
  static bool begins(std::string_view bytes);

  const std::vector<ZipEntry>& entries() const { return entries_; }  // in the directory's order
  const ZipEntry* find(std::string_view name) const;                 // null: there is none
  // The content, e.size bytes. Checksums are of use where a writer made them: PyTorch can be told not to.
  enum class Checksum : bool { ignored, checked };
  void read(const ZipEntry& e, void* target, Checksum checksum) const;
  std::string read(const ZipEntry& e, Checksum checksum) const;
  std::string begin_of(const ZipEntry& e, uint64_t most) const;  // the first bytes of the content
  void check(const ZipEntry& e) const;                           // the checksum of a stored one

 private:
  void read_directory();
  void check_places();
  void check_sum(const ZipEntry& e, const void* content) const;
};

class ZipWriter {
  AtomicFile file_;
  std::vector<ZipEntry> entries_;
  std::vector<uint64_t> headers_;  // where each entry's own header lies
  uint64_t at_ = 0, wide_from_;

 public:
  // wide_from: sizes and offsets from which the 64-bit fields are used; smaller only in tests.
  ZipWriter(std::string who, std::string path, uint64_t wide_from = 0xffffffff);
  // One piece of content after the other. An uncompressed content begins at a multiple of 64.
  void add(const std::string& name, std::initializer_list<std::string_view> pieces, bool deflated = false);
  void commit();

 private:
  void put(std::string_view bytes);
  void deflate(std::initializer_list<std::string_view> pieces);
  std::string central(const ZipEntry& e, uint64_t header) const;
};

}  // namespace dyadic::inline v1::io
