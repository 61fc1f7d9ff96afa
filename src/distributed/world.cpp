// The processes that were started together, and the plug-in that carries what they say.
#include <dlfcn.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "base/check.h"
#include "distributed/engine.h"
#include "distributed/world.h"
#include "dyadic/distributed.h"

namespace dyadic::inline v1::distributed {
namespace {

namespace fs = std::filesystem;
constexpr const char* kPlugin = "libdyadic_mpi.so";
Engine* g_engine = nullptr;

// Beside the program or the Python module, in ../lib, or where the system looks.
std::vector<std::string> places() {
  std::vector<std::string> out;
  if (const char* path = std::getenv("DYADIC_MPI")) return {path};
  std::vector<fs::path> folders;
  std::error_code error;
  if (Dl_info info; dladdr(reinterpret_cast<void*>(&launched), &info) && info.dli_fname)
    folders.push_back(fs::canonical(info.dli_fname, error).parent_path());
  folders.push_back(fs::canonical("/proc/self/exe", error).parent_path());
  for (const fs::path& folder : folders)
    for (const char* up : {".", "../lib", "../../lib", "../../../lib"})
      if (const fs::path file = folder / up / kPlugin; fs::exists(file, error)) out.push_back(file.native());
  out.push_back(kPlugin);
  return out;
}

Engine* load() {
  std::string why;
  for (const std::string& path : places()) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);  // MPI's own plug-ins look for its names
    if (!library) {
      if (path != kPlugin || why.empty()) why = dlerror();
      continue;
    }
    const auto make = reinterpret_cast<MakeEngine>(dlsym(library, "dyadic_engine"));
    if (Engine* engine = make ? make(kEngineVersion) : nullptr) return engine;
    why = path + " is of another version";
  }
  fail(
      "distributed: {} processes were started together, but the plug-in that joins them is missing ({}): ./dev build --mpi "
      "makes it "
      "(on Debian it needs libopenmpi-dev)",
      launched(), why);
}

}  // namespace

// What launchers of OpenMPI, of MPICH and its kin, and of MVAPICH set.
static int environment(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names)
    if (const char* text = std::getenv(name)) std::from_chars(text, text + std::strlen(text), otherwise);
  return otherwise;
}
int launched() { return environment({"MV2_COMM_WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"}, 1); }
int launched_rank() { return environment({"MV2_COMM_WORLD_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"}, 0); }

constinit thread_local Group* t_world = nullptr;

Group& world() {
  if (t_world) return *t_world;
  static std::once_flag once;
  static Group* group = nullptr;
  std::call_once(once, [] {
    if (launched() > 1) g_engine = load();
    group = new Group(g_engine);
  });
  return *group;
}

void finish(int status) {
  if (!g_engine) return;
  if (status)
    g_engine->abort(status);
  else
    g_engine->finish();
}

}  // namespace dyadic::inline v1::distributed
