// The same bits for any number of threads (threads_helper.cpp), in the fast suite.
#include "tests/op_suite/suite.h"

namespace dyadic::op_suite {
namespace {

[[maybe_unused]] const bool kThreadsAdded = add_check({"threads", {"f32"}, {Layout::contiguous}, always, check_threads, kOnce});

}  // namespace
}  // namespace dyadic::op_suite
