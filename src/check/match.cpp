#include "check/match.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/clock.hpp"
#include "boot/boot.hpp"
#include "check/call.hpp"
#include "check/clock.hpp"
#include "check/diagnostic.hpp"
#include "check/enqueued.hpp"
#include "check/messages.hpp"
#include "check/objects.hpp"
#include "check/report.hpp"
#include "check/signature.hpp"
#include "check/state.hpp"
#include "comm/failure.hpp"
#include "p2p/match/matching.hpp"
#include "p2p/p2p.hpp"

namespace hr::check {
namespace {

// kCancelled: a send is being cancelled, so notes can no longer be assigned to messages. kFailed: the last send
// announced has failed. kMatches: MPIX_Matchall matches a persistent send with a receive; no message follows.
constexpr std::uint64_t kCancelled = 1, kFailed = 2, kMatches = 3;

// Signature of the message that follows, as sent to the receiver.
struct Note {
  std::int32_t source = 0;
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stops = 0;  // kCancelled, kFailed, kMatches; 0: a message follows
  Signature signature;
  char data[64] = {};  // "4 x MPI_FLOAT"
  RemoteCallSite call_site;
};

// A note that has arrived, with the sender's clock (clock.hpp).
struct Arrived : Note {
  std::vector<std::byte> clock;
};

struct Mismatch {
  std::uint32_t context;
  std::string text;
};

using Stream = std::tuple<std::uint32_t, int, int>;  // context, source, tag

struct Matches final : FileState {
  std::map<Stream, std::deque<Arrived>> notes;
  std::map<Stream, std::deque<Note>> of_matches;  // kMatches
  std::set<Stream> stopped;
  std::unordered_map<const void*, Arrived> of_messages;   // notes of messages found by MPI_Mprobe and not yet received
  std::unordered_map<const void*, Mismatch> of_requests;  // mismatches found for requests that are not yet completed
  std::deque<Mismatch> of_calls;                          // mismatches of blocking receives
  std::set<const void*> matched;                          // persistent requests for which MPIX_Matchall has returned
};

void send_note(const comm::Communicator& comm, int dest, int tag, const layout::Datatype& type, Count count,
               const CallSite& call_site, std::uint64_t stops = 0) {
  if (dest < 0 || dest >= comm.peers().size() || tag < 0 || count < 0 || comm.has_others_) return;
  Note note;
  note.source = comm.rank();
  note.tag = tag;
  note.stops = stops;
  note.bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(type.size());
  note.signature = signature_of(type, count);
  const std::string data = describe(type, count);
  std::memcpy(note.data, data.c_str(), std::min(data.size(), sizeof note.data - 1));
  note.call_site = remote(call_site);
  const auto bytes = bytes_of(note);
  std::vector<std::byte> message(bytes.begin(), bytes.end());
  release(message);
  tell(comm.peer_proc(dest), Word::kSignature, comm.context(), message);
}

void take_note(const Told& told) {
  Arrived note;
  if (told.data.size() < sizeof(Note)) return;
  std::memcpy(static_cast<Note*>(&note), told.data.data(), sizeof(Note));
  note.clock.assign(told.data.begin() + sizeof(Note), told.data.end());
  const Stream stream{static_cast<std::uint32_t>(told.subject), note.source, note.tag};
  auto& all = own<Matches>();
  if (note.stops == kMatches) {
    all.of_matches[stream].push_back(note);
  } else if (note.stops == kFailed) {
    const auto found = all.notes.find(stream);
    if (found == all.notes.end()) return;
    found->second.pop_back();
    if (found->second.empty()) all.notes.erase(found);
  } else if (note.stops == kCancelled) {
    all.stopped.insert(stream);
    all.notes.erase(stream);
  } else if (!all.stopped.contains(stream)) {
    all.notes[stream].push_back(std::move(note));
  }
}

bool take(const p2p::Envelope& envelope, Arrived* note) {
  auto& notes = own<Matches>().notes;
  const auto found = notes.find({envelope.context, envelope.source, envelope.tag});
  if (found == notes.end()) return false;
  *note = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) notes.erase(found);
  return true;
}

// Finds and removes the note of a message; false if there is none. For a message found by MPI_Mprobe, the note was
// stored when the message was found.
bool find_note(const Call* call, const p2p::Envelope& envelope, Arrived* note) {
  auto& of_messages = own<Matches>().of_messages;
  const bool probed = call != nullptr && (call->is("MPI_Mrecv") || call->is("MPI_Imrecv")) && !call->before.empty();
  const auto found = probed ? of_messages.find(call->before[0]) : of_messages.end();
  if (found == of_messages.end()) return take(envelope, note);
  *note = found->second;
  of_messages.erase(found);
  return true;
}

bool fits(const Note& note, const layout::Datatype& type, Count count) {
  const auto bytes = static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(type.size());
  if (note.signature.packed || note.bytes > bytes) return true;  // truncation is a separate error
  return matches(note.signature, prefix_of(type, count, note.signature.length));
}

std::string mismatch_text(const Note& note, const char* message, const layout::Datatype& type, Count count,
                          const std::string& receiver) {
  return "signature: the " + std::string(message) + " of rank " + std::to_string(note.source) + " with tag " +
         std::to_string(note.tag) + " holds " + note.data + " (" + text(note.call_site) + "), the receive expects " +
         describe(type, count) + " (" + receiver + "); give both the same sequence of basic types";
}

void check_match(const p2p::Request& receive, const p2p::Envelope& envelope) {
  Enqueued* const enqueued = enqueued_by(receive);
  Call* const call = enqueued != nullptr ? nullptr : current_call();
  if (call != nullptr) call->since = now_seconds();
  Arrived note;
  if (!find_note(call, envelope, &note)) {
    if (envelope.context % comm::kContextSpacing == 0) lose_order();
    return;
  }
  learn(note.clock);

  const auto started = operations().find(receive.handle());
  const bool has_request = enqueued == nullptr && started != operations().end();
  if (!has_request && call != nullptr) call->matched = true;
  if (receive.view_.type == nullptr || fits(note, *receive.view_.type, receive.view_.count)) return;
  const std::string receiver = enqueued != nullptr ? text(enqueued->operation.call_site)
                               : has_request       ? text(started->second.call_site)
                               : call != nullptr   ? text(call->call_site())
                                                   : "a receive";
  Mismatch mismatch{envelope.context,
                    mismatch_text(note, "message", *receive.view_.type, receive.view_.count, receiver)};
  if (enqueued != nullptr) {
    enqueued->mismatch = std::move(mismatch.text);
  } else if (has_request) {
    own<Matches>().of_requests[receive.handle()] = std::move(mismatch);
  } else {
    own<Matches>().of_calls.push_back(std::move(mismatch));
  }
}

// The last call for which a note was sent.
thread_local const Call* told_of = nullptr;

// Sends the note of a call that sends. The names of its type and count arguments depend on the function.
void tell_signature_of(const Call& call) {
  told_of = nullptr;
  constexpr std::pair<const char*, const char*> kNames[] = {{"sendtype", "sendcount"}, {"datatype", "count"}};
  const bool later = call.function().ends_with("_init") || call.function().ends_with("_enqueue");
  if (call.find("dest") == nullptr || later) return;
  const auto* const comm = call.object<comm::Communicator>("comm");
  const char* const tag = call.find("sendtag") != nullptr ? "sendtag" : "tag";
  for (const auto& [type_name, count_name] : kNames) {
    const auto* const type = call.object<layout::Datatype>(type_name);
    if (comm == nullptr || type == nullptr || call.find(count_name) == nullptr || !type->committed()) continue;
    told_of = &call;
    return send_note(*comm, static_cast<int>(call.number("dest")), static_cast<int>(call.number(tag)), *type,
                     call.number(count_name), call.call_site());
  }
}

void withdraw(const comm::Communicator& comm, int dest, int tag) {
  if (dest < 0 || dest >= comm.peers().size() || tag < 0 || comm.has_others_) return;
  Note note;
  note.source = comm.rank();
  note.tag = tag;
  note.stops = kFailed;
  tell(comm.peer_proc(dest), Word::kSignature, comm.context(), bytes_of(note));
}

// Withdraws the note because the send has failed. Does nothing for a call that also receives: the receive may have
// failed instead.
void take_back(const Call& call) {
  const auto* const comm = call.object<comm::Communicator>("comm");
  if (std::exchange(told_of, nullptr) != &call || call.find("source") != nullptr || comm == nullptr) return;
  withdraw(*comm, static_cast<int>(call.number("dest")), static_cast<int>(call.number("tag")));
}

void stop_after_cancel(const Call& call) {
  const auto found = operations().find(call.before.empty() ? nullptr : call.before[0]);
  if (found == operations().end() || found->second.kind != Operation::Kind::kSend) return;
  const Operation& send = found->second;
  const comm::Communicator* const comm = comm::communicator_of(send.context);
  if (comm == nullptr || send.peer < 0) return;
  Note note;
  note.source = comm->rank();
  note.tag = send.tag;
  note.stops = kCancelled;
  tell(comm->peer_proc(send.peer), Word::kSignature, send.context, bytes_of(note));
}

// True for a persistent message that MPIX_Matchall is about to match.
bool is_to_match(const Operation& message, Operation::Kind kind) {
  const comm::Communicator* const comm = comm::communicator_of(message.context);
  return message.kind == kind && message.persistent && !message.active && !is_matched(message.request) &&
         comm != nullptr && message.peer >= 0 && !message.buffers.empty() &&
         (comm->peer_proc(message.peer) == boot::processes().self() ||
          p2p::shares_memory(comm->peer_proc(message.peer)));
}

// Tells the receivers what the sends hold. Streams exchange matched messages without the library.
void tell_matches(const Call& call) {
  for (const void* const handle : call.before) {
    const auto found = operations().find(handle);
    if (found == operations().end() || !is_to_match(found->second, Operation::Kind::kSend)) continue;
    const Operation& send = found->second;
    const Buffer& data = send.buffers.front();
    send_note(*comm::communicator_of(send.context), send.peer, send.tag, *data.type, data.count, send.call_site,
              kMatches);
  }
}

// The senders' notes arrive before their part in the match.
Status compare_matches(Call& call) {
  Status status = kOk;
  for (const void* const handle : call.before) {
    const auto found = operations().find(handle);
    if (found == operations().end()) continue;
    Operation& operation = found->second;
    const bool receives = is_to_match(operation, Operation::Kind::kReceive);
    if (!operation.active) own<Matches>().matched.insert(handle);
    if (!receives) continue;
    auto& notes = own<Matches>().of_matches[{operation.context, operation.peer, operation.tag}];
    if (notes.empty()) continue;
    const Note note = notes.front();
    notes.pop_front();
    const Buffer& data = operation.buffers.front();
    if (!status.ok() || fits(note, *data.type, data.count)) continue;
    call.where = comm::communicator_of(operation.context);
    const std::string receiver = text(operation.call_site);
    status = fail(Errc::kType, "%s", mismatch_text(note, "send", *data.type, data.count, receiver).c_str());
  }
  return status;
}

Status before(Call& call) {
  tell_signature_of(call);
  if (call.is("MPIX_Matchall")) tell_matches(call);
  if (call.is("MPI_Cancel")) stop_after_cancel(call);
  return kOk;
}

// Returns the live handle of this kind that the call has created; null if there is none.
const void* made(const Call& call, ObjectKind kind) {
  for (const Argument& each : call.arguments()) {
    if (each.use == Argument::Use::kMade && each.kind == kind && each.amount == 1 && is_live(each.values()[0], kind))
      return each.values()[0];
  }
  return nullptr;
}

void note_probed(const Call& call) {
  const void* const handle = made(call, ObjectKind::kMessage);
  if (handle == nullptr) return;
  const p2p::Unexpected& message = *static_cast<const p2p::Message*>(handle)->unexpected_;
  Arrived note;
  if (!take(message.envelope, &note)) return lose_order();
  learn(note.clock);
  own<Matches>().of_messages[handle] = std::move(note);
}

Status raise_on(Call& call, const Mismatch& mismatch) {
  if (comm::Communicator* const comm = comm::communicator_of(mismatch.context)) call.where = comm;
  return fail(Errc::kType, "%s", mismatch.text.c_str());
}

Status after(Call& call, int code) {
  auto& all = own<Matches>();
  if (code == 0) note_probed(call);
  if (code != 0) take_back(call);
  if (call.is("MPI_Request_free") && !call.before.empty()) all.matched.erase(call.before.front());
  if (code == 0 && call.is("MPIX_Matchall")) HR_TRY(compare_matches(call));
  if (!all.of_calls.empty()) {
    Mismatch mismatch = std::move(all.of_calls.front());
    all.of_calls.pop_front();
    const void* const request = made(call, ObjectKind::kRequest);
    if (request == nullptr) return raise_on(call, mismatch);
    all.of_requests[request] = std::move(mismatch);  // the receive matched its message immediately
  }
  if (all.of_requests.empty()) return kOk;
  for (const void* const handle : call.before) {
    const auto found = all.of_requests.find(handle);
    if (found == all.of_requests.end()) continue;
    if (const auto left = operations().find(handle); left != operations().end() && left->second.active) continue;
    const Mismatch mismatch = std::move(found->second);
    all.of_requests.erase(found);
    return raise_on(call, mismatch);
  }
  return kOk;
}

// Reports mismatches of receives that were never completed.
void at_finalize() {
  for (const auto& [handle, mismatch] : own<Matches>().of_requests) report("%s", mismatch.text.c_str());
}

void start() {
  on_word(Word::kSignature, take_note);
  p2p::match_checker = check_match;
}
void stop() { p2p::match_checker = nullptr; }

}  // namespace

std::vector<std::string> messages_without_receive() {
  std::vector<std::string> texts;
  for (const auto& [stream, notes] : own<Matches>().notes) {
    std::map<std::string, int> by_call;
    for (const Arrived& each : notes) ++by_call["(" + std::string(each.data) + ", " + text(each.call_site) + ")"];
    for (const auto& [call, count] : by_call) {
      const comm::Communicator* const comm = comm::communicator_of(std::get<0>(stream));
      texts.push_back(std::to_string(count) + (count == 1 ? " message" : " messages") + " of rank " +
                      std::to_string(std::get<1>(stream)) + " with tag " + std::to_string(std::get<2>(stream)) +
                      " of " + (comm == nullptr ? std::string("a communicator that was freed") : name_of(*comm)) + " " +
                      call);
    }
  }
  return texts;
}

bool is_matched(const void* request) { return own<Matches>().matched.contains(request); }

void tell_signature(const CallSite& call_site, const Operation& send) {
  const auto* const comm = comm::communicator_of(send.context);
  if (send.kind != Operation::Kind::kSend || comm == nullptr || send.buffers.empty()) return;
  const Buffer& data = send.buffers.front();
  send_note(*comm, send.peer, send.tag, *data.type, data.count, call_site);
}

void take_back_signature(const Operation& send) {
  const auto* const comm = comm::communicator_of(send.context);
  if (send.kind == Operation::Kind::kSend && comm != nullptr && !send.buffers.empty())
    withdraw(*comm, send.peer, send.tag);
}

extern const Diagnostic kSignatures;
const Diagnostic kSignatures{"signature", start, stop, before, after, at_finalize};

}  // namespace hr::check
