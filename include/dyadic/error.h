// The exceptions of Dyadic. Everything a user can do wrong is one of these; nothing aborts.
#pragma once
#include <stdexcept>
#include <string>

namespace dyadic::inline v1 {

// Base of the family; Python sees RuntimeError.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  const char* what_without_backtrace() const { return what(); }  // libtorch's c10::Error has these
  std::string msg() const { return what(); }
};
class IndexError : public Error {  // Python: IndexError
 public:
  using Error::Error;
};
class TypeError : public Error {  // Python: TypeError
 public:
  using Error::Error;
};
class ValueError : public Error {  // Python: ValueError
 public:
  using Error::Error;
};
class LinAlgError : public Error {  // Python: dyadic.linalg.LinAlgError, a RuntimeError: a singular matrix and its like
 public:
  using Error::Error;
};
class OutOfMemoryError : public Error {  // Python: dyadic.OutOfMemoryError, a RuntimeError
 public:
  using Error::Error;
};

}  // namespace dyadic::inline v1
