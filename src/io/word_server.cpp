#include "io/word_server.hpp"

#include "base/abi.hpp"
#include "base/log.hpp"
#include "io/transfer.hpp"
#include "p2p/progress.hpp"

namespace hr::io {

Status WordServer::begin() {
  HR_TRY(post());
  p2p::add_hook(&hook, this);
  return kOk;
}

WordServer::~WordServer() {
  p2p::remove_hook(&hook, this);
  if (question_ != nullptr) {
    static_cast<void>(p2p::cancel(*question_));
    static_cast<void>(p2p::wait(*question_));
    p2p::release_request(question_);
  }
  for (Answer& each : answers_) {
    static_cast<void>(p2p::wait(*each.request));
    p2p::release_request(each.request);
  }
}

Status WordServer::post() {
  return p2p::ireceive(bytes_view(&message_, sizeof message_), {comm_.context(), abi::kAnySource, 0}, &question_);
}

// Answers requests. Sending an answer may make progress, and so call serve() recursively.
bool WordServer::serve() {
  if (serving_) return false;
  serving_ = true;
  drop_answers();
  bool moved = false;
  while (question_ != nullptr && question_->complete()) {
    moved = true;
    take_question();
  }
  moved |= grant();
  serving_ = false;
  return moved;
}

void WordServer::take_question() {
  const bool arrived = question_->completion_.error.ok();
  p2p::release_request(question_);
  question_ = nullptr;
  if (!arrived) return;
  const QuestionMessage asked = message_;
  if (!post().ok())
    log::write(log::Level::kError, "a file's shared pointer cannot be served: %s", take_detail().c_str());
  switch (asked.question) {
    case kAdvance:
      return answer(asked.rank, asked.tag, words_.pointer.fetch_add(asked.value, std::memory_order_acq_rel));
    case kLock:
      waiting_.push_back({words_.ticket.fetch_add(1, std::memory_order_acq_rel), asked.rank, asked.tag});
      return;
    default:
      words_.serving.fetch_add(1, std::memory_order_acq_rel);
      return answer(asked.rank, asked.tag, 0);
  }
}

void WordServer::answer(int rank, int tag, Count value) {
  answers_.push_back({value, nullptr});
  Answer& made = answers_.back();
  const Status sent = p2p::isend(bytes_view(&made.value, sizeof made.value), comm_.peer_proc(rank),
                                 {comm_.context(), 0, tag}, p2p::Mode::kStandard, &made.request);
  // If sending fails, the requesting process has failed and does not wait for the answer.
  if (!sent.ok()) answers_.pop_back();
}

bool WordServer::grant() {
  bool moved = false;
  while (!waiting_.empty() && words_.serving.load(std::memory_order_acquire) == waiting_.front().ticket) {
    const Waiting next = waiting_.front();
    waiting_.pop_front();
    answer(next.rank, next.tag, 0);
    moved = true;
  }
  return moved;
}

void WordServer::drop_answers() {
  for (auto each = answers_.begin(); each != answers_.end();) {
    if (!each->request->complete()) {
      ++each;
      continue;
    }
    p2p::release_request(each->request);
    each = answers_.erase(each);
  }
}

}  // namespace hr::io
