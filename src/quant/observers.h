// Ranges of what is seen of a layer's inputs, from which static scales are made.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "dyadic/quant.h"
#include "quant/fake.h"

namespace dyadic::inline v1::quant {

// Counts of values in bins of equal width over [-reach, reach]; reach doubles when more is seen.
class Histogram {
  std::vector<double> counts_;
  double reach_ = 0, zeros_ = 0;  // zeros before anything else was seen

 public:
  static constexpr int64_t kBins = 4096;
  void add(const Tensor& x, double largest);
  double reach() const { return reach_; }
  // Of signed values, and of magnitudes: bin i of kBins / 2 is about (i + 1/2) / (kBins / 2) times reach.
  const std::vector<double>& counts() const { return counts_; }
  std::vector<double> magnitudes() const;
};

// What was seen of one layer.
struct Observed {
  int64_t batches = 0;
  double low = 0, high = 0;                  // of all
  double average_low = 0, average_high = 0;  // of batches, the later ones counting more
  Histogram histogram;
  void add(const Tensor& x, const CalibrateOptions& o);  // ValueError for NaN and infinities
};

void check_options(const CalibrateOptions& o);  // ValueError
// low <= high: the range that is to be covered.
std::pair<double, double> range_of(const Observed& seen, const IntegerCodes& codes, const CalibrateOptions& o);

struct Grid {
  double scale;
  int64_t zero;
};
// Of a range: symmetric, scale = max(|low|, |high|) / the largest code; with a zero point the codes are spread over the range
// and 0, and 0 is one of them.
Grid grid_of(double low, double high, const IntegerCodes& codes);

}  // namespace dyadic::inline v1::quant
