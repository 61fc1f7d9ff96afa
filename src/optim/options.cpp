// Options of optimizers: how records spell them, their defaults, what is out of range.
#include <cmath>
#include <mutex>

#include "base/check.h"
#include "base/text.h"
#include "corridor/signature.h"
#include "optim/update.h"

namespace dyadic::inline v1::optim {

const Option* Options::find(std::string_view name) const {
  for (auto& [key, value] : all_)
    if (key == name) return &value;
  return nullptr;
}
void Options::set(std::string_view name, Option value) {
  for (auto& [key, old] : all_)
    if (key == name) {
      old = std::move(value);
      return;
    }
  all_.emplace_back(name, std::move(value));
}
double Options::number(std::string_view name, size_t i) const {
  const Option* o = find(name);
  DY_ASSERT(o);
  return i < o->numbers.size() ? o->numbers[i] : NAN;
}
bool Options::has(std::string_view name) const {
  const Option* o = find(name);
  return o && !o->is_none();
}
const std::string& Options::word(std::string_view name) const {
  const Option* o = find(name);
  DY_ASSERT(o);
  return o->word;
}

Option read_option(std::string_view text) {
  if (text == "None") return {};
  if (text == "True" || text == "False") return text == "True";
  if (text.front() == '"') return std::string(text.substr(1, text.size() - 2));
  std::vector<double> numbers;
  std::string rest(text);
  for (char& c : rest)
    if (c == '(' || c == ')' || c == ',') c = ' ';
  for (size_t at = rest.find_first_not_of(' '); at != rest.npos; at = rest.find_first_not_of(' ', at)) {
    const size_t end = std::min(rest.find(' ', at), rest.size());
    const std::string one = rest.substr(at, end - at);
    numbers.push_back(one == "None" ? NAN : one == "inf" ? INFINITY : std::stod(one));
    at = end;
  }
  return numbers;
}

namespace {

struct Range {
  const char* name;
  double low, high;
  bool high_included = true;
};
constexpr Range kRanges[] = {{"lr", 0, INFINITY},
                             {"eps", 0, INFINITY},
                             {"weight_decay", 0, INFINITY},
                             {"momentum", 0, INFINITY},
                             {"betas", 0, 1, false},
                             {"alpha", 0, INFINITY},
                             {"rho", 0, 1},
                             {"lr_decay", 0, INFINITY},
                             {"initial_accumulator_value", 0, INFINITY},
                             {"momentum_decay", 0, INFINITY},
                             {"step_sizes", 0, INFINITY},
                             {"clip_threshold", 0, INFINITY},
                             {"d", 1, INFINITY},
                             {"ns_steps", 1, 99},
                             {"warmup_steps", 0, INFINITY}};

}  // namespace

std::vector<OptionDef> read_signature(std::string text) {
  text += " -> None";
  std::vector<OptionDef> out;
  for (const Parameter& p : parse_signature(text.c_str()).parameters)
    out.push_back({p.type, p.name, p.fallback.empty() ? Option() : read_option(p.fallback), p.fallback, p.optional,
                   p.keyword_only, p.fallback.empty()});
  return out;
}

// What every optimizer takes; tools/generate reads it here.
constexpr const char* kCommonOptions =
    "dtype state=\"f32\", bool stochastic_rounding=False, str? compensation=None, int seed=0";

const std::vector<OptionDef>& option_defs(const OptimizerDef& def) {
  static std::mutex mutex;
  static std::map<const OptimizerDef*, std::vector<OptionDef>> all;
  std::lock_guard lock(mutex);
  std::vector<OptionDef>& out = all[&def];
  if (!out.empty()) return out;
  std::string text = def.sig;
  if (def.name() == "Optimizer") return out = read_signature(text);
  text.pop_back();
  text += text.find("*,") == text.npos ? ", *, " : ", ";
  return out = read_signature(text + kCommonOptions + ")");
}

void check_option(const std::string& who, const OptionDef& def, const Option& value) {
  const bool worded = def.type == "str" || def.type == "dtype";
  DY_CHECK_AS(TypeError,
              value.is_none() ? def.optional
              : worded        ? value.numbers.empty()
                              : value.word.empty(),
              "{}: {} has the wrong type; it takes {}", who, def.name, def.type);
  if (def.type == "float[]" && def.fallback.numbers.size() > 1)
    DY_CHECK_AS(ValueError, value.numbers.size() == def.fallback.numbers.size(), "{}: {} takes {} numbers, not {}", who,
                def.name, def.fallback.numbers.size(), value.numbers.size());
  for (const Range& r : kRanges)
    if (def.name == r.name)
      for (size_t i = 0; i < value.numbers.size(); ++i) {
        const double v = value.numbers[i];
        const auto& usual = def.fallback.numbers;
        const bool none = std::isnan(v) && i < usual.size() && std::isnan(usual[i]);  // of a list: None
        DY_CHECK_AS(ValueError, none || (v >= r.low && (r.high_included ? v <= r.high : v < r.high)),
                    "{}: an option is out of range: {} is {}; it is at least {} and {} {}", who, def.name, v, r.low,
                    r.high_included ? "at most" : "below", r.high);
      }
  if (def.name == "compensation")
    DY_CHECK_AS(
        ValueError, value.is_none() || value.word == "kahan" || value.word == "f32",
        "{}: compensation is \"{}\"; it is kahan, which keeps what rounding left in the parameter's dtype, or f32, which "
        "makes parameter and rest an f32 master",
        who, value.word);
  if (def.type == "dtype") check_state_dtype(who, DType::parse(value.word));
}

void check_state_dtype(const std::string& who, DType d) {
  const Format& f = *d.format();
  const Granularity g = f.params.granularity;
  const bool plain = f.def->kind == Kind::floating && f.def->bits >= 8 && f.def->mantissa_bits > 0;
  const bool blocks = f.is_scaled() && (f.def->bits == 8 || f.def->bits == 4) && f.can_encode() && !f.params.doubled &&
                      f.row_step() == 1 && f.params.rows == 1 && (g == Granularity::flat || g == Granularity::group) &&
                      f.params.block > 0 && kRuleTile % f.params.block == 0;
  DY_CHECK_AS(ValueError, plain || blocks,
              "{}: states are f32, bf16, f16, an 8-bit float, or 8 or 4 bits in blocks that divide {}, such as dynamic8 or "
              "i4(group=64), not {}",
              who, kRuleTile, d.name());
}

}  // namespace dyadic::inline v1::optim
