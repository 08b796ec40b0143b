// What streams, events and captures are made of. All of it is guarded by work_mutex(), which is never held while work
// runs.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <thread>

#include "stream.hpp"

namespace fake_cuda {

// Work that a program captures instead of giving it to a device.
struct Capture {
  int mode = 0;  // CUstreamCaptureMode: global, of the thread, relaxed
  std::thread::id thread;
  Stream* origin = nullptr;
  std::set<Stream*> streams;  // that take part, the origin among them
  std::vector<std::function<Result()>> nodes;
  Result invalid = kSuccess;  // what the capture was spoilt by
};

struct Operation {
  std::function<Result()> work;
  std::vector<OperationPointer> after;
  Context* context = nullptr;
  bool wanted = false;
  bool done = false;
};

struct Stream {
  Context* context = nullptr;
  bool blocking = true;
  bool alive = true;
  std::deque<OperationPointer> queue;
  OperationPointer last;
  std::shared_ptr<Capture> capture;  // null: it is not captured
  std::condition_variable changed;
};

struct Event {
  bool alive = true;
  OperationPointer operation;
  std::shared_ptr<Capture> capture;  // it was last recorded in
};

std::mutex& work_mutex();
std::set<Stream*>& streams();
std::set<Event*>& events();
std::set<std::shared_ptr<Capture>>& captures();

// Under the mutex: a captured stream, or a stream that takes part in none and waits for a captured event.
void join(const std::shared_ptr<Capture>& capture, Stream* stream);
// Waiting for it, or asking it, is an error that spoils its capture.
Result not_captured(Stream* stream);

}  // namespace fake_cuda
