// Images: JPEG and PNG files as tensors, folders of them as datasets, transforms.
//
//   namespace T = dy::data::transforms;
//   dy::data::ImageFolder pets("pets/train", T::compose({T::random_resized_crop(64), T::random_horizontal_flip(),
//   T::to_float()}));
#pragma once
#include "dyadic/data.h"

namespace dyadic::inline v1::data {

enum class ImageMode : uint8_t { unchanged, gray, rgb };
// uint8 [channels, height, width]; the file's first bytes say whether it is JPEG or PNG. ValueError naming the file.
Tensor read_image(const std::string& path, ImageMode mode = ImageMode::unchanged);
Tensor decode_image(std::string_view bytes, ImageMode mode = ImageMode::unchanged, std::string_view name = "image");
void write_png(const std::string& path, const Tensor& image);  // uint8 [1 or 3, height, width] or [height, width]

using Transform = Callback<Tensor(Tensor)>;

// root/<class>/...: a class per folder, classes and files sorted by name. Sample: [image, class]. Images are RGB.
class ImageFolder : public Dataset {
  std::vector<std::string> classes_;
  std::vector<std::pair<std::string, int64_t>> samples_;
  Transform transform_;

 public:
  explicit ImageFolder(const std::string& root, Transform transform = {});
  int64_t size() override { return int64_t(samples_.size()); }
  Value get(int64_t index) override;
  const std::vector<std::string>& classes() const { return classes_; }
  const std::vector<std::pair<std::string, int64_t>>& samples() const { return samples_; }
};

// Transforms of images [..., height, width]. A size of one number is that of the shorter side (resize) or of both.
namespace transforms {
Transform compose(std::vector<Transform> steps);
Transform to_float();                                                    // [0, 255] to f32 in [0, 1]
Transform normalize(std::vector<double> mean, std::vector<double> std);  // per channel
Transform resize(std::vector<int64_t> size);                             // bilinear, antialiased
Transform center_crop(std::vector<int64_t> size);
Transform pad(int64_t padding, double fill = 0);
Transform random_crop(std::vector<int64_t> size, int64_t padding = 0);
Transform random_horizontal_flip(double p = 0.5);
Transform random_vertical_flip(double p = 0.5);
// A part of the image of `scale` times its area and an aspect within `ratio` (log-uniform), resized. (Szegedy et al. 2015.)
Transform random_resized_crop(std::vector<int64_t> size, std::pair<double, double> scale = {0.08, 1.0},
                              std::pair<double, double> ratio = {3.0 / 4, 4.0 / 3});
// What follows is of images [1 or 3, height, width].
Transform grayscale(int64_t channels = 1);
// Each factor uniform in [1 - x, 1 + x] but not below zero, in random order; of bytes rounded down, as torchvision does.
Transform color_jitter(double brightness = 0, double contrast = 0, double saturation = 0);
// With probability p a rectangle of `scale` times the area becomes `value`. (Zhong et al. 2017.)
Transform random_erasing(double p = 0.5, std::pair<double, double> scale = {0.02, 0.33},
                         std::pair<double, double> ratio = {0.3, 3.3}, double value = 0);
}  // namespace transforms

}  // namespace dyadic::inline v1::data
