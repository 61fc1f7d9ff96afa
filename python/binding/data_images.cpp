// Images for Python: files, folders, transforms.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include "data.h"
#include "dyadic/images.h"

namespace dyadic::inline v1::python {
namespace {

using namespace data;
using Path = std::filesystem::path;
using Size = std::variant<int64_t, std::vector<int64_t>>;

ImageMode read_mode(const std::string& mode) {
  if (mode == "unchanged") return ImageMode::unchanged;
  if (mode == "gray") return ImageMode::gray;
  DY_CHECK_AS(ValueError, mode == "rgb", "read_image: no such mode: \"{}\"; there are unchanged, gray and rgb", mode);
  return ImageMode::rgb;
}
std::vector<int64_t> read_size(const Size& s) { return s.index() ? std::get<1>(s) : std::vector<int64_t>{std::get<0>(s)}; }

// A transform of ours, or a function of Python's. ImageFolder hands it a tensor.
Transform read_transform(nb::handle o) {
  if (o.is_none()) return {};
  if (nb::isinstance<Transform>(o)) return nb::cast<Transform>(o);
  return [f = std::make_shared<Held>(nb::borrow(o))](Tensor t) {
    return calling_python([&] { return nb::cast<Tensor>(f->get()(t)); });
  };
}

// Images whose transform is Python's may give anything: the sample is (transform(image), target_transform(class)).
class TransformedFolder : public ImageFolder {
  std::shared_ptr<Held> transform_, target_;

 public:
  TransformedFolder(const std::string& root, nb::object transform, nb::object target)
      : ImageFolder(root, nb::isinstance<Transform>(transform) ? nb::cast<Transform>(transform) : Transform()),
        transform_(std::make_shared<Held>(transform)),
        target_(std::make_shared<Held>(target)) {}
  Value get(int64_t index) override {
    Value sample = ImageFolder::get(index);
    const bool own = transform_->get().is_none() || nb::isinstance<Transform>(transform_->get());
    if (own && target_->get().is_none()) return sample;
    return calling_python([&] {
      nb::object image = to_object(sample[0], true), label = to_object(sample[1], true);
      if (!own) image = transform_->get()(image);
      if (!target_->get().is_none()) label = target_->get()(label);
      return foreign_value(nb::make_tuple(image, label));
    });
  }
  static int visit(const TransformedFolder& f, visitproc visit, void* arg) {
    Py_VISIT(f.transform_->get().ptr());
    Py_VISIT(f.target_->get().ptr());
    return 0;
  }
};

void add_transforms(nb::module_ m) {
  namespace T = transforms;
  nb::class_<Transform>(m, "Transform", "Of an image [..., height, width].")
      .def(
          "__call__",
          [](Transform& f, const Tensor& image) {
            Unlocked unlocked;
            return f(image);
          },
          nb::arg("image"));
  m.def(
      "Compose",
      [](nb::sequence steps) {
        std::vector<Transform> all;
        for (nb::handle s : steps) all.push_back(read_transform(s));
        return T::compose(std::move(all));
      },
      nb::arg("transforms"), "One after the other.");
  m.def("ToFloat", T::to_float, "[0, 255] to float32 in [0, 1].");
  m.def("Normalize", T::normalize, nb::arg("mean"), nb::arg("std"), "(image - mean) / std per channel.");
  auto sized = [&m](const char* name, auto make, const char* doc) {
    m.def(name, [make](const Size& size) { return make(read_size(size)); }, nb::arg("size"), doc);
  };
  sized("Resize", T::resize, "Bilinear and antialiased; one number is the shorter side's.");
  sized("CenterCrop", T::center_crop, "The middle; zeros around an image that is smaller.");
  m.def("Pad", T::pad, nb::arg("padding"), nb::arg("fill") = 0.0);
  m.def(
      "RandomCrop", [](const Size& size, int64_t padding) { return T::random_crop(read_size(size), padding); }, nb::arg("size"),
      nb::arg("padding") = 0);
  m.def("RandomHorizontalFlip", T::random_horizontal_flip, nb::arg("p") = 0.5);
  m.def("RandomVerticalFlip", T::random_vertical_flip, nb::arg("p") = 0.5);
  m.def(
      "RandomResizedCrop",
      [](const Size& size, std::pair<double, double> scale, std::pair<double, double> ratio) {
        return T::random_resized_crop(read_size(size), scale, ratio);
      },
      nb::arg("size"), nb::arg("scale") = std::pair(0.08, 1.0), nb::arg("ratio") = std::pair(3.0 / 4, 4.0 / 3),
      "A random part of the image of so much of its area and such an aspect, resized.");
  m.def("Grayscale", T::grayscale, nb::arg("num_output_channels") = 1);
  m.def("ColorJitter", T::color_jitter, nb::arg("brightness") = 0.0, nb::arg("contrast") = 0.0, nb::arg("saturation") = 0.0,
        "Factors uniform in [max(0, 1 - x), 1 + x], in random order.");
  m.def("RandomErasing", T::random_erasing, nb::arg("p") = 0.5, nb::arg("scale") = std::pair(0.02, 0.33),
        nb::arg("ratio") = std::pair(0.3, 3.3), nb::arg("value") = 0.0, "A random rectangle becomes value.");
}

}  // namespace

void add_images(nb::module_& m) {
  m.def(
      "read_image",
      [](const Path& path, const std::string& mode) {
        const ImageMode wanted = read_mode(mode);
        Unlocked unlocked;
        return read_image(path.native(), wanted);
      },
      nb::arg("path"), nb::arg("mode") = "unchanged",
      "A JPEG or PNG file as uint8 [channels, height, width]; mode: unchanged, gray or rgb.");
  m.def(
      "decode_image",
      [](nb::bytes data, const std::string& mode) { return decode_image({data.c_str(), data.size()}, read_mode(mode)); },
      nb::arg("data"), nb::arg("mode") = "unchanged");
  m.def(
      "write_png", [](const Path& path, const Tensor& image) { write_png(path.native(), image); }, nb::arg("path"),
      nb::arg("image"));
  add_transforms(m.def_submodule("transforms", "Transforms of images; what they draw belongs to their batch."));
  bind_dataset<TransformedFolder, TransformedFolder::visit>(
      m, "ImageFolder", "root/<class>/...: (image, class) of every JPEG and PNG file; images are RGB, uint8 before transform.")
      .def(
          "__init__",
          [](TransformedFolder* self, const Path& root, nb::object transform, nb::object target) {
            new (self) TransformedFolder(root.native(), transform, target);
          },
          nb::arg("root"), nb::arg("transform") = nb::none(), nb::arg("target_transform") = nb::none())
      .def_prop_ro("classes", &ImageFolder::classes)
      .def_prop_ro("class_to_idx",
                   [](TransformedFolder& f) {
                     nb::dict d;
                     for (size_t i = 0; i < f.classes().size(); ++i) d[f.classes()[i].c_str()] = i;
                     return d;
                   })
      .def_prop_ro("samples", &ImageFolder::samples)
      .def_prop_ro("imgs", &ImageFolder::samples)
      .def_prop_ro("targets", [](TransformedFolder& f) {
        std::vector<int64_t> all;
        for (auto& [path, label] : f.samples()) all.push_back(label);
        return all;
      });
}

}  // namespace dyadic::inline v1::python
