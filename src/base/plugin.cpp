#include "base/plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace dyadic::inline v1 {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> places(const char* name, const char* variable) {
  std::vector<std::string> out;
  if (const char* path = std::getenv(variable)) return {path};
  std::vector<fs::path> folders;
  std::error_code error;
  if (Dl_info info; dladdr(reinterpret_cast<void*>(&load_plugin), &info) && info.dli_fname)
    folders.push_back(fs::canonical(info.dli_fname, error).parent_path());
  folders.push_back(fs::canonical("/proc/self/exe", error).parent_path());
  for (const fs::path& folder : folders)
    for (const char* up : {".", "../lib", "../../lib", "../../../lib"})
      if (const fs::path file = folder / up / name; fs::exists(file, error)) out.push_back(file.native());
  out.push_back(name);
  return out;
}

}  // namespace

void* load_plugin(const char* file, const char* variable, const char* symbol, int version, bool global, std::string& why) {
  for (const std::string& path : places(file, variable)) {
    void* library = dlopen(path.c_str(), RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (!library) {
      if (path != file || why.empty()) why = dlerror();
      continue;
    }
    const auto make = reinterpret_cast<void* (*)(int)>(dlsym(library, symbol));
    if (void* made = make ? make(version) : nullptr) return made;
    why = path + " is of another version";
  }
  return nullptr;
}

}  // namespace dyadic::inline v1
