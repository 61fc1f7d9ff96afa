#include <algorithm>
#include <filesystem>

#include "base/check.h"
#include "dyadic/images.h"

namespace dyadic::inline v1::data {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sorted(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> out;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) out.push_back(it->path());
  DY_CHECK(!error, "ImageFolder: {} cannot be read: {}", folder.native(), error.message());
  std::sort(out.begin(), out.end());
  return out;
}
bool is_image(const fs::path& path) {
  std::string end = path.extension().native();
  for (char& c : end) c = char(std::tolower(static_cast<unsigned char>(c)));
  return end == ".jpg" || end == ".jpeg" || end == ".png";
}

}  // namespace

ImageFolder::ImageFolder(const std::string& root, Transform transform) : transform_(std::move(transform)) {
  for (const fs::path& folder : sorted(root)) {
    if (!fs::is_directory(folder)) continue;
    const size_t before = samples_.size();
    std::vector<std::string> found;
    std::error_code error;
    for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
      if (it->is_regular_file() && is_image(it->path())) found.push_back(it->path().native());
    DY_CHECK(!error, "ImageFolder: {} cannot be read: {}", folder.native(), error.message());
    std::sort(found.begin(), found.end());
    for (std::string& path : found) samples_.emplace_back(std::move(path), int64_t(classes_.size()));
    DY_CHECK_AS(ValueError, samples_.size() > before, "ImageFolder: {} holds no .jpg, .jpeg or .png file", folder.native());
    classes_.push_back(folder.filename().native());
  }
  DY_CHECK_AS(ValueError, !classes_.empty(), "ImageFolder: {} holds no folders; each is a class", root);
}

Value ImageFolder::get(int64_t index) {
  const auto& [path, label] = samples_[size_t(index)];
  Tensor image = read_image(path, ImageMode::rgb);
  return Value::List{transform_ ? transform_(std::move(image)) : std::move(image), Scalar(label)};
}

}  // namespace dyadic::inline v1::data
