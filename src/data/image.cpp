// JPEG by libjpeg, PNG by libpng, as uint8 [channels, height, width].
#include <stdio.h>  // jpeglib.h needs it

#include <jpeglib.h>
#include <png.h>
#include <setjmp.h>

#include "base/check.h"
#include "data/file.h"
#include "dyadic/images.h"
#include "tensor/impl.h"

namespace dyadic::inline v1::data {
namespace {

constexpr int64_t kMaxPixels = int64_t(1) << 28;  // a header may claim what no memory holds

Tensor planes(const Tensor& rows) { return permute(rows, {2, 0, 1}).contiguous(); }  // from [height, width, channels]

void check_size(std::string_view name, int64_t height, int64_t width) {
  DY_CHECK_AS(ValueError, height > 0 && width > 0 && height <= kMaxPixels / width,
              "read_image: {}: {} x {} pixels are too many", name, width, height);
}

Tensor decode_png(std::string_view bytes, ImageMode mode, std::string_view name) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  struct Free {
    png_image* image;
    ~Free() { png_image_free(image); }
  } free{&image};
  auto check = [&](int ok) { DY_CHECK_AS(ValueError, ok, "read_image: {}: damaged PNG: {}", name, image.message); };
  check(png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()));
  check_size(name, image.height, image.width);
  image.format &= PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA;  // no palette, 8 bits
  if (mode == ImageMode::rgb) image.format = PNG_FORMAT_RGB;
  if (mode == ImageMode::gray) image.format = PNG_FORMAT_GRAY;
  Tensor rows = empty({image.height, image.width, int64_t(PNG_IMAGE_SAMPLE_CHANNELS(image.format))}, u8);
  const png_color black{};  // behind what is transparent and loses its alpha
  check(png_image_finish_read(&image, &black, rows.data_ptr(), 0, nullptr));
  return planes(rows);
}

// libjpeg reports errors by a function that must not return: a jump back to where decoding began. Between the two no object
// with a destructor is made.
struct JpegReader {
  jpeg_decompress_struct info{};
  jpeg_error_mgr manager{};
  jmp_buf back{};
  char message[JMSG_LENGTH_MAX]{};

  JpegReader() {
    info.err = jpeg_std_error(&manager);
    info.client_data = this;
    manager.error_exit = [](j_common_ptr c) {
      auto* self = static_cast<JpegReader*>(c->client_data);
      c->err->format_message(c, self->message);
      longjmp(self->back, 1);
    };
    manager.output_message = [](j_common_ptr) {};
    jpeg_create_decompress(&info);
  }
  ~JpegReader() { jpeg_destroy_decompress(&info); }
  JpegReader(const JpegReader&) = delete;

  bool begin(std::string_view bytes, ImageMode mode) {
    if (setjmp(back)) return false;
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_read_header(&info, TRUE);
    if (mode == ImageMode::rgb) info.out_color_space = JCS_RGB;
    if (mode == ImageMode::gray) info.out_color_space = JCS_GRAYSCALE;
    if (mode == ImageMode::unchanged) info.out_color_space = info.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_calc_output_dimensions(&info);
    return true;
  }
  bool read(unsigned char* out) {
    if (setjmp(back)) return false;
    jpeg_start_decompress(&info);
    const size_t row = size_t(info.output_width) * size_t(info.output_components);
    while (info.output_scanline < info.output_height) {
      JSAMPROW line = out + row * info.output_scanline;
      jpeg_read_scanlines(&info, &line, 1);
    }
    jpeg_finish_decompress(&info);
    return manager.num_warnings == 0;
  }
};

Tensor decode_jpeg(std::string_view bytes, ImageMode mode, std::string_view name) {
  JpegReader reader;
  auto damaged = [&] {
    if (!reader.message[0]) reader.manager.format_message(reinterpret_cast<j_common_ptr>(&reader.info), reader.message);
    fail<ValueError>("read_image: {}: damaged JPEG: {}", name, reader.message);
  };
  if (!reader.begin(bytes, mode)) damaged();
  check_size(name, reader.info.output_height, reader.info.output_width);
  Tensor rows = empty({reader.info.output_height, reader.info.output_width, reader.info.output_components}, u8);
  if (!reader.read(rows.data<unsigned char>())) damaged();
  return planes(rows);
}

}  // namespace

Tensor decode_image(std::string_view bytes, ImageMode mode, std::string_view name) {
  if (bytes.starts_with("\x89PNG")) return decode_png(bytes, mode, name);
  if (bytes.starts_with("\xff\xd8")) return decode_jpeg(bytes, mode, name);
  fail<ValueError>("read_image: {}: neither JPEG nor PNG", name);
}
Tensor read_image(const std::string& path, ImageMode mode) {
  return decode_image(InputFile("read_image", path).rest(), mode, path);
}

void write_png(const std::string& path, const Tensor& image) {
  const Tensor t = image.dim() == 2 ? unsqueeze(image, 0) : image;
  DY_CHECK_AS(TypeError, t.dtype() == u8 && t.dim() == 3 && (t.size(0) == 1 || t.size(0) == 3) && t.numel() > 0,
              "write_png: the image is not uint8 [1 or 3, height, width]: it is {}", describe(image));
  const Tensor rows = permute(t.detach(), {1, 2, 0}).contiguous();
  png_image out{};
  out.version = PNG_IMAGE_VERSION;
  out.width = png_uint_32(t.size(2)), out.height = png_uint_32(t.size(1));
  out.format = t.size(0) == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  const int ok = png_image_write_to_file(&out, path.c_str(), 0, rows.data_ptr(), 0, nullptr);
  DY_CHECK(ok, "write_png: {} cannot be written: {}", path, out.message);
}

}  // namespace dyadic::inline v1::data
