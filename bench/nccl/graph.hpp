// A CUDA graph of work that was captured from a stream, repeated by one launch.
//
// Owner: the caller; `stream` must outlive it, and have no work of it left when it dies. One thread.
#pragma once

#include <functional>

#include "gpu.hpp"

namespace bench {

class Graph {
 public:
  // Captures `calls` calls of `enqueue`, which gives work to `stream` and waits for nothing.
  Graph(gpu::Stream stream, int calls, const std::function<void()>& enqueue);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch() const;

 private:
  gpu::Stream stream_;
  void* executable_ = nullptr;
};

}  // namespace bench
