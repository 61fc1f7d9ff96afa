#include <nanobind/nanobind.h>
NB_MODULE(_dyadic, m) {}
