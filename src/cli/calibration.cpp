#include "cli/calibration.h"

#include <algorithm>

#include "base/check.h"
#include "dyadic/tokenizer.h"
#include "io/bad_file.h"
#include "study/language_text.h"

namespace dyadic::inline v1::cli {

std::vector<Tensor> calibration_windows(const std::string& model, const std::string& file, int64_t window, int64_t samples) {
  const std::vector<int64_t> ids = Tokenizer::load(model).encode(io::read_text(file));
  const int64_t whole = int64_t(ids.size()) / window;
  DY_CHECK_AS(ValueError, int64_t(ids.size()) >= std::min<int64_t>(window, 16),
              "{}: {} tokens are too few to calibrate with; give a longer text", file, ids.size());
  if (whole == 0) return {from_data(ids.data(), {1, int64_t(ids.size())}, i64)};
  return study::windows_over(ids, window, samples);
}

void WatchWeights::step(void* self, size_t done, size_t total, const std::string&) {
  auto& w = *static_cast<WatchWeights*>(self);
  if (done == 0) w.steps = std::make_unique<Steps>(w.name, total);
  w.steps->step();
}

}  // namespace dyadic::inline v1::cli
