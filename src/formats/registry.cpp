// The records behind the dtypes: made before anything else runs, interned, never freed. The list of formats is the list of
// files (CMakeLists.txt).
#include <algorithm>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "base/parallel.h"
#include "formats/format.h"
#include "formats/text.h"
#include "formats_list.h"

#define DY_EXTERN(name) DY_OF_AN_ISA const FormatDef name##_format;
#define DY_ALL_EXTERN DY_SCALAR_FORMATS(DY_EXTERN) DY_BLOCK_FORMATS(DY_EXTERN)
namespace dyadic::sse4 {
DY_ALL_EXTERN
}
namespace dyadic::avx2 {
DY_ALL_EXTERN
}
namespace dyadic::avx512 {
DY_ALL_EXTERN
}

namespace dyadic::inline v1 {

// In place before Start below names them; g++ initializes them statically, clang 19 with libstdc++ 12 cannot.
namespace detail {
#define DY_SCALAR(name) [[gnu::init_priority(101)]] Format name{&sse4::name##_format};
DY_SCALAR_FORMATS(DY_SCALAR)
}  // namespace detail

namespace {

struct Entry {
  const FormatDef* def;  // of the running instruction set
  Format* record;        // scalars; block formats: the one with default parameters
};

struct Registry {
  std::vector<Entry> scalars, blocks;
  std::mutex mutex;
  std::vector<Format*> interned;  // every scaled record made so far
};

const FormatDef* running(const FormatDef& s, const FormatDef& a, const FormatDef& z) {
  switch (isa()) {
    case Isa::avx512:
      return &z;
    case Isa::avx2:
      return &a;
    default:
      return &s;
  }
}

// The fixed order of registered_dtypes(): floats, signed, unsigned, bool; wide before narrow; precise before wide-ranging.
bool before(const Entry& x, const Entry& y) {
  const FormatDef &a = *x.def, &b = *y.def;
  auto rank = [](Kind k) {
    return k == Kind::floating ? 0 : k == Kind::sint ? 1 : k == Kind::uint ? 2 : k == Kind::boolean ? 3 : 4;  // then complex
  };
  if (rank(a.kind) != rank(b.kind)) return rank(a.kind) < rank(b.kind);
  if (a.bits != b.bits) return a.bits > b.bits;
  if (a.mantissa_bits != b.mantissa_bits) return a.mantissa_bits > b.mantissa_bits;
  return std::string_view(a.name) < std::string_view(b.name);
}

Format* make(Registry& r, const FormatDef& def, const Params& params) {
  for (Format* f : r.interned)
    if (f->def == &def && f->params == params) return f;
  Format* f = new Format{&def, params};
  f->text = f->long_text = format_text(def, params);
  r.interned.push_back(f);
  return f;
}

Registry& registry() {
  static Registry& r = *[] {
    Registry* r = new Registry;
    __builtin_cpu_init();  // isa() asks what the compiler's own constructor, of the same priority as ours, would have found
#define DY_ADD_SCALAR(name) \
  r->scalars.push_back({running(sse4::name##_format, avx2::name##_format, avx512::name##_format), &detail::name});
    DY_SCALAR_FORMATS(DY_ADD_SCALAR)
#define DY_ADD_BLOCK(name) \
  r->blocks.push_back({running(sse4::name##_format, avx2::name##_format, avx512::name##_format), nullptr});
    DY_BLOCK_FORMATS(DY_ADD_BLOCK)
    for (Entry& e : r->scalars) {
      e.record->def = e.def;
      e.record->text = e.def->name;
      e.record->long_text = *e.def->long_name ? e.def->long_name : e.def->name;
    }
    for (Entry& e : r->blocks) e.record = make(*r, *e.def, e.def->defaults);
    std::sort(r->scalars.begin(), r->scalars.end(), before);
    std::sort(r->blocks.begin(), r->blocks.end(), before);
    return r;
  }();
  return r;
}

// Runs before ordinary static initialization of any file.
struct Start {
  Start() { registry(); }
};
[[gnu::init_priority(101)]] Start start;

DType standard(const FormatDef& s, const FormatDef& a, const FormatDef& z) {
  const FormatDef* def = running(s, a, z);
  return DType(intern(*def, def->defaults));
}

}  // namespace

// nf4, q8_0, ...: the constants of dtype.h, one for each file in block/.
#define DY_CONSTANT(name)  \
  extern const DType name; \
  [[gnu::init_priority(102)]] const DType name = standard(sse4::name##_format, avx2::name##_format, avx512::name##_format);
DY_BLOCK_FORMATS(DY_CONSTANT)

const Format* intern(const FormatDef& def, const Params& params) {
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  return make(r, def, params);
}

std::vector<DType> registered_dtypes() {
  std::vector<DType> all;
  for (const Entry& e : registry().scalars) all.emplace_back(e.record);
  for (const Entry& e : registry().blocks) all.emplace_back(e.record);
  return all;
}

const Format* find_scalar(std::string_view name) {
  for (const Entry& e : registry().scalars)
    if (name == e.def->name || name == e.record->long_text) return e.record;
  return nullptr;
}
const Format* find_scaled(std::string_view name) {
  for (const Entry& e : registry().blocks)
    if (name == e.def->name) return e.record;
  return nullptr;
}

const std::string& DType::name() const {
  static const std::string& none = *new std::string("none");
  return f_ ? f_->text : none;
}
const std::string& DType::long_name() const { return f_ ? f_->long_text : name(); }
bool DType::is_floating_point() const { return f_ && f_->def->kind == Kind::floating; }
bool DType::is_integer() const { return f_ && (f_->def->kind == Kind::sint || f_->def->kind == Kind::uint); }
bool DType::is_complex() const { return f_ && f_->def->kind == Kind::complex; }
DType DType::to_real() const { return is_complex() ? DType(&compute_format(real_of(f_->compute()))) : *this; }
DType DType::to_complex() const {
  if (!is_floating_point()) return *this;
  return DType(&compute_format(f_->compute() == Compute::f64 ? Compute::c128 : Compute::c64));
}
bool DType::is_scaled() const { return f_ && f_->is_scaled(); }
bool DType::is_blocked() const { return f_ && f_->is_blocked(); }
double DType::bits() const { return f_ ? double(f_->code_bits(f_->def->vector)) / f_->def->vector : 0; }
int64_t DType::itemsize() const {
  DY_CHECK_AS(ValueError, f_ && !f_->is_blocked(),
              "itemsize: an element has no bytes of its own: dtype is {}; use bits() or the tensor's nbytes", name());
  return f_->itemsize();
}

}  // namespace dyadic::inline v1
