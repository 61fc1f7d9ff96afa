// The processes that were started together, and the plug-in that carries what they say.
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/check.h"
#include "base/plugin.h"
#include "distributed/engine.h"
#include "distributed/world.h"
#include "dyadic/distributed.h"

namespace dyadic::inline v1::distributed {
namespace {

Engine* g_engine = nullptr;

Engine* load() {
  std::string why;
  // Global: MPI's own plug-ins look for its names.
  if (const auto make = find_plugin<Engine>("libdyadic_mpi.so", "DYADIC_MPI", "dyadic_engine", kEngineVersion, true, why))
    return make;
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
