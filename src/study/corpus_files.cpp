// Files and folders of text, read in a fixed order.
#include "study/corpus_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

#include "base/check.h"
#include "study/vocabulary.h"

namespace dyadic::inline v1::study {

namespace {
namespace fs = std::filesystem;
constexpr size_t kNotes = 20;  // a folder of pictures must not fill the report

struct Loader {
  CorpusText out;
  std::set<std::string> seen;  // canonical paths: text that is read twice would leak from training into validation
  size_t unnoted = 0;

  void note(std::string line) {
    if (out.notes.size() < kNotes) {
      out.notes.push_back(std::move(line));
    } else {
      ++unnoted;
    }
  }

  // Appends the file's text. Not text or unreadable: says why, appends nothing.
  std::string append(const fs::path& path) {
    std::error_code ignored;
    if (!seen.insert(fs::weakly_canonical(path, ignored).native()).second) {
      note(fmt::format("{} is named twice and read once", printable(path.native())));
      return {};
    }
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file) return std::strerror(errno);
    const size_t before = out.text.size();
    char chunk[1 << 16];
    while (const size_t n = std::fread(chunk, 1, sizeof chunk, file.get())) {
      if (const void* nul = std::memchr(chunk, 0, n)) {
        const size_t offset = out.text.size() - before + size_t(static_cast<const char*>(nul) - chunk);
        out.text.resize(before);
        return fmt::format("not text, it has a NUL byte at offset {}", offset);
      }
      out.text.append(chunk, n);
    }
    if (std::ferror(file.get())) {
      out.text.resize(before);
      return std::strerror(errno);
    }
    out.files.push_back({printable(path.native()), int64_t(out.text.size() - before)});
    return {};
  }

  void folder(const fs::path& root) {
    std::vector<fs::path> found;
    std::error_code error;
    fs::recursive_directory_iterator it(root, fs::directory_options::skip_permission_denied, error), end;
    DY_CHECK_AS(ValueError, !error, "data: the folder cannot be read: {}: {}; check its permissions", printable(root.native()),
                error.message());
    for (; it != end; it.increment(error)) {
      if (error) break;
      const bool hidden = it->path().filename().native().starts_with('.');
      std::error_code ignored;
      if (hidden) {
        if (it->is_directory(ignored)) it.disable_recursion_pending();
      } else if (!it->is_directory(ignored)) {
        found.push_back(it->path());
      }
    }
    DY_CHECK_AS(ValueError, !error, "data: the folder cannot be read: {}: {}; check its permissions", printable(root.native()),
                error.message());
    std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
    const size_t before = out.files.size();
    for (const fs::path& path : found) {
      std::error_code ignored;
      const fs::file_status status = fs::status(path, ignored);
      if (fs::exists(status) && !fs::is_regular_file(status)) continue;  // sockets, pipes, devices, links to folders
      if (const std::string why = append(path); !why.empty())
        note(fmt::format("{} was left out: {}", printable(path.native()), why));
    }
    if (out.files.size() == before) note(fmt::format("{} holds no text files", printable(root.native())));
  }
};
}  // namespace

CorpusText read_corpus_files(std::span<const std::string> paths) {
  Loader loader;
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    DY_CHECK_AS(ValueError, fs::exists(status),
                "data: no such file or folder: {}; give the path of a text file or of a folder of them",
                path.empty() ? "\"\"" : printable(path));
    if (fs::is_directory(status)) {
      loader.folder(path);
    } else if (const std::string why = loader.append(path); !why.empty()) {
      fail<ValueError>("data: the file cannot be used: {}: {}; give a text file that you may read", printable(path), why);
    }
  }
  if (loader.unnoted) loader.out.notes.push_back(fmt::format("and {} more like these", loader.unnoted));
  return std::move(loader.out);
}

std::string printable(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    char32_t c = 0;
    if (!next_code_point(text, at, c)) {
      ++at;
      c = 0xFFFD;
    }
    // C0, DEL, C1 and the marks that turn the direction of text: a name must not be able to rewrite the line it stands in.
    const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) ||
                         c == 0x2028 || c == 0x2029;
    append_utf8(out, control ? 0xFFFD : c);
  }
  return out;
}

}  // namespace dyadic::inline v1::study
