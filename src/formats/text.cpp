// DType::parse and its inverse.
//
// A bare name is the scalar format of that name or the scaled one with its default parameters. With parentheses the flags
// (double, zero) are what is written, while block, granularity and scale type keep their defaults unless written: nf4 is
// nf4(block=64,double), nf4(block=64) has no double quantization, i4(scale=f16) is i4(group=32,scale=f16).
#include "formats/text.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace dyadic::inline v1 {
namespace {

constexpr int32_t kMaxBlock = 1 << 24;

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

std::string option_names(uint32_t options) {
  static constexpr struct {
    uint32_t bit;
    const char* text;
  } kNames[] = {
      {kBlock, "block=N"},  {kRow, "row"},   {kTensor, "tensor"},         {kGroup, "group=N"}, {kTiled, "tile=MxN"},
      {kDoubled, "double"}, {kZero, "zero"}, {kCodebooks, "codebooks=N"}, {kBits, "bits=N"},   {kScale, "scale=f16|bf16|f32"}};
  std::string all;
  for (const auto& n : kNames)
    if (options & n.bit) all += (all.empty() ? "" : ", ") + std::string(n.text);
  if (options & kTiled) all += "|f8e8m0fnu";
  return all.empty() ? "none" : all;
}

[[noreturn]] void unknown(std::string_view text, std::string_view name) {
  constexpr size_t kNamed = 5;
  std::vector<std::pair<double, std::string>> names;  // of each dtype the one that is closer
  for (DType d : registered_dtypes()) {
    const std::string names_of[] = {d.format()->def->name, d.long_name()};
    const std::string close = nearest(name, names_of);
    names.emplace_back(edit_distance(name, close), close);
  }
  std::ranges::stable_sort(names, {}, &std::pair<double, std::string>::first);
  const auto [distance, close] = names[0];
  const bool meant = distance <= 2 && distance < double(name.size());  // further off is no typing error
  std::vector<std::string> near;
  for (size_t i = 0; near.size() < kNamed && i < names.size(); ++i)
    if (std::ranges::find(near, names[i].second) == near.end()) near.push_back(names[i].second);
  fail<ValueError>("dtype: no such format: text is \"{}\"; {} \"dyadic formats\" lists all", text,
                   meant ? fmt::format("did you mean {}?", close) : "the nearest are " + join(near, ", ") + ";");
}

struct Parser {
  std::string_view text;  // for messages
  const FormatDef& def;
  Params params;
  uint32_t seen = 0;

  [[noreturn]] void refuse(std::string_view what) const {
    fail<ValueError>("dtype: {}: text is \"{}\"; {} takes {}", what, text, def.name, option_names(def.options));
  }
  void note(uint32_t bit, std::string_view option) {
    if (!(def.options & bit)) refuse(fmt::format("{} has no option \"{}\"", def.name, option));
    if (seen & bit) refuse(fmt::format("option \"{}\" stands twice", option));
    seen |= bit;
    constexpr uint32_t kCover = kRow | kTensor | kGroup | kTiled;
    if ((bit & kCover) && (seen & kCover) != bit) refuse("row, tensor, group and tile exclude each other");
  }
  int32_t number(std::string_view value, std::string_view option, int32_t step, int32_t most) const {
    int32_t n = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
    const bool whole = error == std::errc() && end == value.data() + value.size();
    if (!whole || n < 1 || n > most || n % step)
      refuse(fmt::format("\"{}\" needs {} from {} to {}", option,
                         step == 1   ? "a number"
                         : step == 2 ? "an even number"
                                     : fmt::format("a multiple of {}", step),
                         step, most));
    return n;
  }
  int32_t size(std::string_view value, std::string_view option) const {
    return number(value, option, def.block_step, kMaxBlock);
  }
  void option(std::string_view o) {
    const size_t equal = o.find('=');
    const std::string_view key = trim(o.substr(0, equal));
    const std::string_view value = equal == o.npos ? std::string_view() : trim(o.substr(equal + 1));
    if (equal == o.npos) {
      if (key == "row") return note(kRow, o), cover(Granularity::row, 0);
      if (key == "tensor") return note(kTensor, o), cover(Granularity::tensor, 0);
      if (key == "double") return note(kDoubled, o), void(params.doubled = true);
      if (key == "zero") return note(kZero, o), void(params.zero = true);
    } else if (key == "block") {
      return note(kBlock, o), void(params.block = size(value, o));
    } else if (key == "group") {
      return note(kGroup, o), cover(Granularity::group, size(value, o));
    } else if (key == "tile") {
      const size_t x = value.find('x');
      note(kTiled, o);
      if (x == value.npos) refuse(fmt::format("\"{}\" needs rows x columns, such as tile=128x128", o));
      cover(Granularity::tile, size(value.substr(x + 1), o));
      params.rows = size(value.substr(0, x), o);
      return;
    } else if (key == "codebooks") {
      return note(kCodebooks, o), void(params.codebooks = uint8_t(number(value, o, 1, kMostCodebooks)));
    } else if (key == "bits") {
      return note(kBits, o), void(params.word_bits = uint8_t(number(value, o, 1, kMostWordBits)));
    } else if (key == "scale") {
      note(kScale, o);
      params.scale = find_scalar(value);
      if (params.scale == &detail::f32 || params.scale == &detail::f16 || params.scale == &detail::bf16) return;
      if ((def.options & kTiled) && params.scale == &detail::f8e8m0fnu) return;  // of the formats that round to powers of two
    }
    refuse(fmt::format("\"{}\" is not understood", o));
  }
  void cover(Granularity granularity, int32_t block) {
    params.granularity = granularity;
    params.block = block;
    params.rows = 1;
  }
};

}  // namespace

std::string format_text(const FormatDef& def, const Params& p) {
  std::string options;
  auto add = [&](bool present, const std::string& text) {
    if (present) options += (options.empty() ? "" : ",") + text;
  };
  add(def.options & kBlock, fmt::format("block={}", p.block));
  add((def.options & kRow) && p.granularity == Granularity::row, "row");
  add((def.options & kTensor) && p.granularity == Granularity::tensor, "tensor");
  add((def.options & kGroup) && p.granularity == Granularity::group, fmt::format("group={}", p.block));
  add((def.options & kTiled) && p.granularity == Granularity::tile, fmt::format("tile={}x{}", p.rows, p.block));
  add(def.options & kCodebooks, fmt::format("codebooks={}", p.codebooks));
  add(def.options & kBits, fmt::format("bits={}", p.word_bits));
  add(p.doubled, "double");
  add(p.zero, "zero");
  add((def.options & kScale) && p.scale != &detail::f32, fmt::format("scale={}", p.scale ? p.scale->def->name : "f32"));
  return options.empty() ? def.name : fmt::format("{}({})", def.name, options);
}

DType DType::parse(std::string_view text) {
  const std::string_view whole = trim(text);
  const size_t open = whole.find('(');
  const std::string_view name = trim(whole.substr(0, open));
  const Format* scaled = find_scaled(name);
  if (open == whole.npos) {
    if (const Format* scalar = find_scalar(name)) return DType(scalar);
    if (!scaled) unknown(text, name);
    return DType(scaled);
  }
  if (!scaled) {
    if (!find_scalar(name)) unknown(text, name);
    fail<ValueError>("dtype: {} has no options: text is \"{}\"; write {}", name, text, name);
  }
  Parser parser{text, *scaled->def, scaled->def->defaults};
  parser.params.doubled = parser.params.zero = false;
  if (whole.back() != ')') parser.refuse("the closing parenthesis is missing");
  std::string_view rest = whole.substr(open + 1, whole.size() - open - 2);
  while (true) {
    const size_t comma = rest.find(',');
    parser.option(trim(rest.substr(0, comma)));
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  return DType(intern(*scaled->def, parser.params));
}

}  // namespace dyadic::inline v1
