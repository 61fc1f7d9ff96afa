// The parts of `dyadic formats`. A format that is none means all of those the question makes sense for; each returns an exit
// code.
#pragma once
#include <string>

#include "cli/command.h"
#include "dyadic/dtype.h"

namespace dyadic::inline v1::cli {

int show_value(DType format, const std::string& number, bool json);
int show_bits(DType format, const std::string& code, bool json);
void one_of_distributions(const std::string& name);  // ValueError unless it is one
int show_errors(DType format, const std::string& distribution, int64_t size, bool json);
int draw_number_line(DType format, const std::string& file, bool json);

double bits_per_weight(const Format& f);  // in a [1024, 1024] tensor

}  // namespace dyadic::inline v1::cli
