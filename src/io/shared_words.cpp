#include "io/shared_words.hpp"

#include <unistd.h>

#include <new>
#include <string>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "comm/group.hpp"
#include "io/state.hpp"
#include "io/transfer.hpp"
#include "io/word_server.hpp"

namespace hr::io {

using p2p::Task;

namespace {

constexpr std::size_t kBytes = 4096;
static_assert(sizeof(Words) <= kBytes);

// Message to the other processes: how to open the memory.
struct Whereabouts {
  bool made = false;
  std::int64_t process = -1;  // process whose `descriptor` refers to the memory; -1: the memory has a name
  std::int64_t descriptor = -1;
  std::uint64_t number = 0;
};

std::string path_of(int maker, std::uint64_t number) {
  return knobs().shm_dir + "/headrace." + boot::identity().job_id + ".file." + std::to_string(maker) + "." +
         std::to_string(number);
}

bool opened(Status status) {
  if (!status.ok())
    log::write(log::Level::kDecision, "the shared pointer of a file uses messages: %s", take_detail().c_str());
  return status.ok();
}

struct Turn {
  const Words* words;
  std::uint64_t ticket;
  static bool has_turn(void* turn) {
    const auto* const me = static_cast<Turn*>(turn);
    return me->words->serving.load(std::memory_order_acquire) == me->ticket;
  }
};

}  // namespace

SharedWords::SharedWords(comm::Communicator& comm) : comm_(comm), memory_("close files that are not needed any more") {}

SharedWords::~SharedWords() = default;

Task SharedWords::open(comm::Members members) {
  words_ = members.me == 0 ? &own_ : nullptr;
  if (members.size == 1) co_return kOk;
  bool shared = comm::on_one_host(members.procs);
  if (shared) {
    Task sharing = share(members, &shared);
    HR_CO_TRY(co_await sharing);
  }
  if (!shared && members.me == 0) {
    server_ = std::make_unique<WordServer>(comm_, own_);
    HR_CO_TRY(server_->begin());
  }
  co_return kOk;
}

Task SharedWords::share(comm::Members members, bool* shared) {
  Whereabouts place;
  if (members.me == 0) {
    place.number = state().shared_files++;
    place.made = opened(
        memory_.create_hidden(path_of(members.procs[0], place.number), kBytes, kBytes, SharedFile::Room::kAnywhere));
    if (memory_.hidden()) place.process = ::getpid(), place.descriptor = memory_.descriptor();
  }
  Task telling = comm::broadcast(members, 0, &place, sizeof place);
  HR_CO_TRY(co_await telling);
  bool there = place.made;
  if (members.me != 0 && there) {
    const std::string name = place.process >= 0 ? SharedFile::name_of(place.process, static_cast<int>(place.descriptor))
                                                : path_of(members.procs[0], place.number);
    there = opened(memory_.attach(name, kBytes));
  }
  std::uint64_t all_there = there ? 1 : 0;
  Task agreeing = comm::and_reduce(members, &all_there, 1);
  HR_CO_TRY(co_await agreeing);
  if (members.me == 0 && place.made) memory_.unlink();
  *shared = all_there != 0;
  // New memory is zero, which is the initial value of the words.
  if (*shared) words_ = reinterpret_cast<Words*>(memory_.data());
  co_return kOk;
}

Task SharedWords::ask(int question, Count value, Count* answer) {
  QuestionMessage message{question, comm_.rank(), next_tag_, value};
  next_tag_ = next_tag_ % 0x3fffffff + 1;
  p2p::Requests<2> requests;
  HR_CO_TRY(p2p::ireceive(bytes_view(answer, sizeof *answer), {comm_.context(), 0, message.tag}, requests.next()));
  HR_CO_TRY(p2p::isend(bytes_view(&message, sizeof message), comm_.peer_proc(0), {comm_.context(), message.rank, 0},
                       p2p::Mode::kStandard, requests.next()));
  HR_CO_TRY(co_await requests.all());
  co_return kOk;
}

Task SharedWords::advance(Count etypes, Count* before) {
  if (words_ != nullptr) {
    *before = words_->pointer.fetch_add(etypes, std::memory_order_acq_rel);
    co_return kOk;
  }
  Task asking = ask(kAdvance, etypes, before);
  HR_CO_TRY(co_await asking);
  co_return kOk;
}

Task SharedWords::lock() {
  if (words_ != nullptr) {
    Turn turn{words_, words_->ticket.fetch_add(1, std::memory_order_acq_rel)};
    p2p::When come{&Turn::has_turn, &turn, comm_.context()};
    HR_CO_TRY(co_await come);
    co_return kOk;
  }
  Count answer = 0;
  Task asking = ask(kLock, 0, &answer);
  HR_CO_TRY(co_await asking);
  co_return kOk;
}

Task SharedWords::unlock() {
  if (words_ != nullptr) {
    words_->serving.fetch_add(1, std::memory_order_acq_rel);
    co_return kOk;
  }
  Count answer = 0;
  Task asking = ask(kUnlock, 0, &answer);
  HR_CO_TRY(co_await asking);
  co_return kOk;
}

}  // namespace hr::io
