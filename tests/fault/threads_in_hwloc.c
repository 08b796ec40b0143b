// Preloaded into mpiexec: hwloc_topology_load() leaves a thread that receives signals, like hwloc's OpenCL plugin.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

static void* wait_for_ever(void* nothing) {
  for (;;) pause();
  return nothing;
}

int hwloc_topology_load(void* topology) {
  int (*load)(void*) = (int (*)(void*))dlsym(RTLD_NEXT, "hwloc_topology_load");
  pthread_t thread;
  if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) return -1;
  return load(topology);
}
