#include "nccl/graph.hpp"

#include <dlfcn.h>

namespace bench {
namespace {

// Functions of the driver that gpu.hpp does not need.
#define GRAPH_FUNCTIONS(X)                                                                \
  X(cuStreamBeginCapture, cuStreamBeginCapture_v2, (gpu::Stream, int))                    \
  X(cuStreamEndCapture, cuStreamEndCapture, (gpu::Stream, void**))                        \
  X(cuGraphInstantiate, cuGraphInstantiateWithFlags, (void**, void*, unsigned long long)) \
  X(cuGraphLaunch, cuGraphLaunch, (void*, gpu::Stream))                                   \
  X(cuGraphDestroy, cuGraphDestroy, (void*))                                              \
  X(cuGraphExecDestroy, cuGraphExecDestroy, (void*))

struct Functions {
#define GRAPH_MEMBER(name, symbol, parameters) int(*name) parameters = nullptr;
  GRAPH_FUNCTIONS(GRAPH_MEMBER)
#undef GRAPH_MEMBER

  Functions() {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
#define GRAPH_LOAD(name, symbol, parameters) name = reinterpret_cast<decltype(name)>(::dlsym(library, #symbol));
    GRAPH_FUNCTIONS(GRAPH_LOAD)
#undef GRAPH_LOAD
  }
};

const Functions& driver() {
  static const Functions functions;
  return functions;
}

#define GRAPH_CALL(name, ...) gpu::check(gpu::loaded(driver().name, #name)(__VA_ARGS__), #name)

}  // namespace

Graph::Graph(gpu::Stream stream, int calls, const std::function<void()>& enqueue) : stream_(stream) {
  constexpr int kThreadLocal = 1;  // other threads, such as NCCL's, may use the driver meanwhile
  void* graph = nullptr;
  GRAPH_CALL(cuStreamBeginCapture, stream, kThreadLocal);
  for (int i = 0; i < calls; ++i) enqueue();
  GRAPH_CALL(cuStreamEndCapture, stream, &graph);
  GRAPH_CALL(cuGraphInstantiate, &executable_, graph, 0ull);
  GRAPH_CALL(cuGraphDestroy, graph);
}

Graph::~Graph() { driver().cuGraphExecDestroy(executable_); }

void Graph::launch() const { GRAPH_CALL(cuGraphLaunch, executable_, stream_); }

}  // namespace bench
