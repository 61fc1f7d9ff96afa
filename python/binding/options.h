// Options of optimizers and schedules as Python writes them.
#pragma once
#include "dyadic/optim.h"
#include "object.h"

namespace dyadic::inline v1::python {

optim::Option read_option(const std::string& who, const std::string& name, nb::handle value);
nb::object option_object(const optim::OptionDef& def, const optim::Option& value);
optim::Options read_options(const std::string& who, nb::dict given);
nb::list parameter_list(const std::vector<optim::OptionDef>& defs);  // (name, type, default's text, keyword only)

void add_schedules(nb::module_& m);  // lr_scheduler.cpp

}  // namespace dyadic::inline v1::python
