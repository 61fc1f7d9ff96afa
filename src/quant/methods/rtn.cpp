// Round to nearest: what to(format) does. What every other method is compared with, and falls back on.
#include "quant/methods.h"

namespace dyadic::inline v1::quant {

extern const Method rtn_method;
const Method rtn_method = {
    .sig = "rtn()",
    .doc = "Each weight takes the nearest code under the format's own scales.",
    .source = "the formats' encoders",
    .refuses = refuses_unencodable,
    .run = [](const Task& t) -> Result { return {to_nearest(t.weight, t.format), ""}; },
};

}  // namespace dyadic::inline v1::quant
