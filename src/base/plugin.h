// Plug-ins: shared libraries that are found when the program runs, so that nothing here links what they need.
#pragma once
#include <string>

namespace dyadic::inline v1 {

// What `symbol(version)` of the plug-in gives, a pointer; null, and a line in `why`, where there is none. It is the one that
// the environment variable names, or lies beside the program or the Python module, in ../lib, or where the system looks.
void* load_plugin(const char* file, const char* variable, const char* symbol, int version, bool global, std::string& why);

template <class T>
T* find_plugin(const char* file, const char* variable, const char* symbol, int version, bool global, std::string& why) {
  return static_cast<T*>(load_plugin(file, variable, symbol, version, global, why));
}

}  // namespace dyadic::inline v1
