// Tensor::str against stored texts (tests/cases/print/*.txt) and, where PyTorch has no say, against texts written here.
//
// A case is a line `> dtype [shape] values; option; ...` and the expected lines up to `---`. Values are numbers,
// `arange` (0, 1, 2 ...), `arange*0.37` (scaled) or `fill 3`; missing ones repeat the last. Options: requires_grad, t
// (transposed), and those of set_printoptions, as in `precision=2`. In tests/cases/print everything is what PyTorch prints,
// with its name replaced by ours.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "dyadic/ops.h"
#include "dyadic/print.h"
#include "tests/test_data.h"

namespace dyadic {
namespace {

struct Options {  // restores the defaults at the end
  explicit Options(const PrintOptions& o) { set_printoptions(o); }
  ~Options() { set_printoptions({}); }
};

struct PrintCase {
  std::string file, input, expected;
};

std::vector<PrintCase> load_cases() {
  std::vector<PrintCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator(test_data("cases/print"))) {
    std::ifstream in(entry.path());
    std::string line;
    bool inside = false;
    while (std::getline(in, line)) {
      if (line.starts_with("> ")) {
        cases.push_back({entry.path().filename().native(), line.substr(2), ""});
        inside = true;
      } else if (inside && line == "---") {
        inside = false;
      } else if (inside) {
        cases.back().expected += (cases.back().expected.empty() ? "" : "\n") + line;
      }
    }
  }
  return cases;
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream in(text);
  for (std::string part; std::getline(in, part, separator);) {
    size_t from = part.find_first_not_of(' '), to = part.find_last_not_of(' ');
    if (from != part.npos) parts.push_back(part.substr(from, to - from + 1));
  }
  return parts;
}

std::string printed(const std::string& input) {
  std::vector<std::string> parts = parts_of(input, ';');
  size_t open = parts[0].find('['), close = parts[0].find(']');
  std::vector<int64_t> shape;
  for (const std::string& n : parts_of(parts[0].substr(open + 1, close - open - 1), ',')) shape.push_back(std::stoll(n));
  int64_t numel = 1;
  for (int64_t s : shape) numel *= s;
  std::vector<std::string> words = parts_of(parts[0].substr(close + 1), ' ');
  std::vector<double> values(size_t(numel), 0.0);
  for (size_t i = 0; i < values.size(); ++i) {
    if (words[0].starts_with("arange"))
      values[i] = double(i) * (words[0].size() > 6 ? std::stod(words[0].substr(7)) : 1);
    else if (words[0] == "fill")
      values[i] = std::stod(words[1]);
    else
      values[i] = std::stod(words[std::min(i, words.size() - 1)]);
  }
  Tensor t = from_data(values.data(), shape, f64).to(DType::parse(parts_of(parts[0].substr(0, open), ' ')[0]));
  PrintOptions o;
  bool grad = false;
  for (size_t k = 1; k < parts.size(); ++k) {
    std::string name = parts[k].substr(0, parts[k].find('=')),
                value = parts[k].substr(std::min(parts[k].find('='), parts[k].size() - 1) + 1);
    if (name == "precision") o.precision = std::stoi(value);
    if (name == "threshold") o.threshold = std::stoll(value);
    if (name == "edgeitems") o.edgeitems = std::stoll(value);
    if (name == "linewidth") o.linewidth = std::stoll(value);
    if (name == "sci_mode") o.sci_mode = value == "True";
    if (name == "t") t = t.transpose(0, -1);
    grad |= name == "requires_grad";
  }
  if (grad) t.requires_grad_();
  Options scope(o);
  return t.str();
}

TEST(Print, AsPyTorch) {
  std::vector<PrintCase> cases = load_cases();
  EXPECT_GT(cases.size(), 60u);
  for (const PrintCase& c : cases) EXPECT_EQ(printed(c.input), c.expected) << c.file << ": " << c.input;
}

TEST(Print, History) {
  Tensor x = tensor({1., 2}).requires_grad_();
  EXPECT_EQ((x * 2).str(), "tensor([2., 4.], grad_fn=<MulBackward0>)");
  EXPECT_EQ(sum(x).str(), "tensor(3., grad_fn=<SumBackward0>)");
  EXPECT_EQ(x.detach().str(), "tensor([1., 2.])");
  EXPECT_EQ(Tensor().str(), "tensor(undefined)");
}

TEST(Print, Meta) {
  EXPECT_EQ(zeros({2, 3}, {}, meta).str(), "tensor(..., device='meta', size=(2, 3))");
  EXPECT_EQ(zeros({4}, f64, meta).str(), "tensor(..., device='meta', size=(4,), dtype=dyadic.float64)");
  EXPECT_EQ(zeros({}, i64, meta).str(), "tensor(..., device='meta', size=(), dtype=dyadic.int64)");
  EXPECT_EQ(zeros({0}, {}, meta).requires_grad_().str(), "tensor(..., device='meta', size=(0,), requires_grad=True)");
}

TEST(Print, ScaledTensorsShowValuesAndDtype) {
  Tensor x = full({2, 64}, 1.0);
  x.index({0}).fill_(-0.5);
  Options scope({.threshold = 10, .edgeitems = 2});
  Tensor w = x.to(DType::parse("nf4(block=64)"));
  EXPECT_EQ(w.str(),
            "tensor([[-0.5000, -0.5000,  ..., -0.5000, -0.5000],\n"
            "        [ 1.0000,  1.0000,  ...,  1.0000,  1.0000]], dtype=nf4(block=64))");
  EXPECT_EQ(w.t().str(),
            "tensor([[-0.5000,  1.0000],\n"
            "        [-0.5000,  1.0000],\n"
            "        ...,\n"
            "        [-0.5000,  1.0000],\n"
            "        [-0.5000,  1.0000]], dtype=nf4(block=64))");
}

TEST(Print, HugeTensorsCostTheirEdges) {
  // 2^40 elements of one zero: anything that made a copy would not return.
  Tensor x = zeros({1}).expand({1 << 20, 1 << 20});
  int64_t allocations = memory_stats().allocations;
  std::string row = "[0., 0., 0.,  ..., 0., 0., 0.]";
  EXPECT_EQ(x.str(), "tensor([" + row + ",\n        " + row + ",\n        " + row + ",\n        ...,\n        " + row +
                         ",\n        " + row + ",\n        " + row + "])");
  EXPECT_EQ(memory_stats().allocations, allocations);
}

TEST(Print, OptionsAreChecked) {
  EXPECT_THROW(set_printoptions({.precision = -1}), ValueError);
  EXPECT_THROW(set_printoptions({.edgeitems = -1}), ValueError);
  EXPECT_EQ(printoptions().precision, 4);
}

}  // namespace
}  // namespace dyadic
