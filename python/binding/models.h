// dyadic.from_pretrained: language models (models.cpp).
#pragma once
#include "nn.h"

namespace dyadic::inline v1::python {

void add_models(nb::module_& m);

}  // namespace dyadic::inline v1::python
