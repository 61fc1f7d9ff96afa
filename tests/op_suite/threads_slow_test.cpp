// The same bits for any number of threads (threads_helper.cpp), for the other types.
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

[[maybe_unused]] const bool kThreadsSlowAdded =
    add_check({"threads", {"bf16", "f64"}, {Layout::contiguous}, always, check_threads});

}  // namespace
}  // namespace dyadic::op_suite
