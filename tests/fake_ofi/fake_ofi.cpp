// A libfabric.so.1 that calls the real one, and behaves as some provider may. HEADRACE_OFI_DIR names its directory.
// Environment variables:
//   FAKE_OFI_LATE=N       reads and writes start after N reads of the completion queue, the last one first
//   FAKE_OFI_OVERTAKE=1   messages leave with the next read of the completion queue, the last one first
//   FAKE_OFI_REFUSE=N     of N successive operations, only the last one is accepted for now
//   FAKE_OFI_LOSE=N       the first N messages that a process sends before anything has arrived are lost
//   FAKE_OFI_BUSY=1       no read of the completion queue finds it empty: completions without an operation fill it
//   FAKE_OFI_FAIL=N       the first N receives fail or, every other one, are cancelled, and so end the use of their
//                         buffers; a provider over ofi_rxm does not report that end
//   FAKE_OFI_PROVIDER=P   the first provider is called P
//   FAKE_OFI_CARDS=N      the first device is listed N times, as card0, card1, ..., each on the PCI bus of that number
//   FAKE_OFI_CANNOT=WHAT  the first provider fails to open a "fabric", a "domain" or an "endpoint", or to "receive"; a
//                         process that leaves endpoints open reports them at its end
//   FAKE_OFI_NO_NODE=1    nothing is found for an address, only for all devices
//   FAKE_OFI_OLD=1        the version is 1.8
// libfabric's functions are called through tables in its objects. This library gives the objects that it hands out
// tables of its own. Calls by which a provider uses another one also arrive here, and are passed on unchanged. Owner of
// all state: the process. Threads: those of the caller, one at a time.
#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

template <class Function>
Function real(Function /*own*/, const char* name) {
  void* const found = ::dlsym(RTLD_NEXT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "fake_ofi: the real library has no %s\n", name);
    std::abort();
  }
  return reinterpret_cast<Function>(found);
}

unsigned number_of(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

const unsigned late = number_of("FAKE_OFI_LATE");
const bool overtakes = number_of("FAKE_OFI_OVERTAKE") != 0;
const bool busy = number_of("FAKE_OFI_BUSY") != 0;
const unsigned refuses = number_of("FAKE_OFI_REFUSE");
unsigned to_lose = number_of("FAKE_OFI_LOSE");
unsigned to_fail = number_of("FAKE_OFI_FAIL");
unsigned calls = 0;  // operations that might have been refused

// True if the real library has made the call that returns to this address.
bool is_own_call(void* returns_to) {
  static const auto version = real(&fi_version, "fi_version");
  Dl_info caller{}, library{};
  return ::dladdr(returns_to, &caller) != 0 && ::dladdr(reinterpret_cast<void*>(version), &library) != 0 &&
         caller.dli_fbase == library.dli_fbase;
}

bool cannot(std::string_view what) {
  const char* const named = std::getenv("FAKE_OFI_CANNOT");
  return named != nullptr && what == named;
}

std::string real_name;  // of the first provider
std::string shown_name;
std::string real_device;  // of all cards

// --- tables of objects ---

// Replaces the table of an object by a copy, which is never freed, and returns the table before.
template <class Table>
const Table* replace(Table** table, Table** copy) {
  const Table* const before = *table;
  *copy = static_cast<Table*>(std::calloc(1, std::max(sizeof(Table), before->size)));
  std::memcpy(*copy, before, before->size);
  *table = *copy;
  return before;
}

struct Endpoint {
  fid_ep* own;
  const fi_ops* object;
  const fi_ops_msg* messages;
  const fi_ops_rma* memory;
};
std::vector<std::unique_ptr<Endpoint>> endpoints;

Endpoint& known(const fid* object) {
  const auto found = std::ranges::find_if(endpoints, [&](const auto& each) { return &each->own->fid == object; });
  if (found == endpoints.end()) std::abort();
  return **found;
}

const fi_ops_cq* real_queue = nullptr;
const fi_ops_fabric* real_fabric = nullptr;
const fi_ops_domain* real_domain = nullptr;

// --- operations that have not started ---

struct Held {
  enum class Kind : std::uint8_t { kSend, kInject, kRead, kWrite } kind;
  fid_ep* endpoint;
  void* buffer;
  std::size_t bytes;
  void* descriptor;
  fi_addr_t address;
  void* context;
  std::uint64_t remote = 0;
  std::uint64_t key = 0;
  std::uint64_t flags = 0;
  std::vector<std::byte> copy = {};  // of an injected message
  unsigned rounds = 0;

  [[nodiscard]] bool is_message() const { return kind == Kind::kSend || kind == Kind::kInject; }
};
std::deque<Held> held;

// Completions that the real library does not report.
struct Done {
  void* context;
  int error;  // 0: none
  std::uint64_t flags;
};
std::deque<Done> done;

bool is_refused() { return refuses > 1 && ++calls % refuses != 0; }

ssize_t start(const Held& one) {
  const Endpoint& endpoint = known(&one.endpoint->fid);
  switch (one.kind) {
    case Held::Kind::kSend:
      return endpoint.messages->send(one.endpoint, one.buffer, one.bytes, one.descriptor, one.address, one.context);
    case Held::Kind::kInject:
      return endpoint.messages->inject(one.endpoint, one.copy.data(), one.copy.size(), one.address);
    case Held::Kind::kRead:
      return endpoint.memory->read(one.endpoint, one.buffer, one.bytes, one.descriptor, one.address, one.remote,
                                   one.key, one.context);
    case Held::Kind::kWrite:
      break;
  }
  const iovec from{one.buffer, one.bytes};
  const fi_rma_iov to{one.remote, one.bytes, one.key};
  void* descriptors[] = {one.descriptor};
  const fi_msg_rma message{&from, descriptors, 1, one.address, &to, 1, one.context, 0};
  return endpoint.memory->writemsg(one.endpoint, &message, one.flags);
}

// Starts what is due, the last one first; the rest waits for the next round.
void start_due() {
  std::vector<Held> due;
  std::deque<Held> others;
  for (Held& each : held) {
    const bool is_due = each.is_message() || ++each.rounds >= late;
    is_due ? due.push_back(std::move(each)) : others.push_back(std::move(each));
  }
  held = std::move(others);
  std::ranges::reverse(due);
  for (Held& each : due) {
    const ssize_t answer = start(each);
    if (answer == -FI_EAGAIN) {
      held.push_back(std::move(each));
    } else if (answer != 0 && each.kind != Held::Kind::kInject) {
      done.push_back({each.context, static_cast<int>(-answer), FI_SEND});
    }
  }
}

// --- endpoints ---

bool is_lost() {
  if (to_lose == 0) return false;
  --to_lose;
  return true;
}

ssize_t send(fid_ep* endpoint, const void* buffer, size_t bytes, void* descriptor, fi_addr_t to, void* context) {
  if (is_refused()) return -FI_EAGAIN;
  if (is_lost()) {
    done.push_back({context, 0, FI_SEND | FI_MSG});
    return 0;
  }
  if (!overtakes) return known(&endpoint->fid).messages->send(endpoint, buffer, bytes, descriptor, to, context);
  held.push_back({Held::Kind::kSend, endpoint, const_cast<void*>(buffer), bytes, descriptor, to, context});
  return 0;
}

ssize_t inject(fid_ep* endpoint, const void* buffer, size_t bytes, fi_addr_t to) {
  if (is_refused()) return -FI_EAGAIN;
  if (is_lost()) return 0;
  if (!overtakes) return known(&endpoint->fid).messages->inject(endpoint, buffer, bytes, to);
  Held one{Held::Kind::kInject, endpoint, nullptr, bytes, nullptr, to, nullptr};
  const auto* const first = static_cast<const std::byte*>(buffer);
  one.copy.assign(first, first + bytes);
  held.push_back(std::move(one));
  return 0;
}

ssize_t read(fid_ep* endpoint, void* buffer, size_t bytes, void* descriptor, fi_addr_t from, std::uint64_t remote,
             std::uint64_t key, void* context) {
  if (is_refused()) return -FI_EAGAIN;
  Held one{Held::Kind::kRead, endpoint, buffer, bytes, descriptor, from, context, remote, key};
  if (late == 0) return start(one);
  held.push_back(std::move(one));
  return 0;
}

ssize_t write(fid_ep* endpoint, const fi_msg_rma* message, std::uint64_t flags) {
  if (is_refused()) return -FI_EAGAIN;
  if (message->iov_count != 1 || message->rma_iov_count != 1) std::abort();  // Headrace writes contiguous memory
  Held one{Held::Kind::kWrite,
           endpoint,
           message->msg_iov->iov_base,
           message->msg_iov->iov_len,
           message->desc == nullptr ? nullptr : message->desc[0],
           message->addr,
           message->context,
           message->rma_iov->addr,
           message->rma_iov->key,
           flags};
  if (late == 0) return start(one);
  held.push_back(std::move(one));
  return 0;
}

int close(fid* object) {
  const auto is_own = [object](const auto& each) { return &each->own->fid == object; };
  const fi_ops* const before = known(object).object;
  std::erase_if(held, [object](const Held& each) { return &each.endpoint->fid == object; });
  std::erase_if(endpoints, is_own);
  return before->close(object);
}

ssize_t refuse_to_receive(fid_ep* /*endpoint*/, const fi_msg* /*message*/, std::uint64_t /*flags*/) {
  return -FI_EINVAL;
}

ssize_t receive(fid_ep* endpoint, const fi_msg* message, std::uint64_t flags) {
  if (to_fail == 0) return known(&endpoint->fid).messages->recvmsg(endpoint, message, flags);
  --to_fail;
  const bool reports = real_name.find("rxm") == std::string::npos;
  const int error = to_fail % 2 == 0 ? FI_EIO : FI_ECANCELED;
  done.push_back({message->context, error, reports ? FI_RECV | FI_MULTI_RECV : FI_RECV});
  return 0;
}

// Reports, at the end of the process, endpoints that are open.
struct Report {
  ~Report() {
    if (cannot("receive") && !endpoints.empty()) std::fprintf(stderr, "fake_ofi: %zu open\n", endpoints.size());
  }
} report;

void take_over(fid_ep* endpoint) {
  auto made = std::make_unique<Endpoint>();
  made->own = endpoint;
  fi_ops_msg* messages = nullptr;
  made->messages = replace(&endpoint->msg, &messages);
  messages->send = send;
  messages->inject = inject;
  messages->recvmsg = cannot("receive") ? refuse_to_receive : receive;
  fi_ops_rma* memory = nullptr;
  made->memory = replace(&endpoint->rma, &memory);
  memory->read = read;
  memory->writemsg = write;
  fi_ops* object = nullptr;
  made->object = replace(&endpoint->fid.ops, &object);
  object->close = close;
  endpoints.push_back(std::move(made));
}

// --- the completion queue ---

ssize_t read_queue(fid_cq* queue, void* entries, size_t count) {
  start_due();
  auto* const out = static_cast<fi_cq_data_entry*>(entries);
  size_t taken = 0;
  for (; taken < count && !done.empty() && done.front().error == 0; ++taken) {
    out[taken] = {};
    out[taken].op_context = done.front().context;
    out[taken].flags = done.front().flags;
    done.pop_front();
  }
  if (taken != 0) return static_cast<ssize_t>(taken);
  if (!done.empty()) return -FI_EAVAIL;
  const ssize_t answer = real_queue->read(queue, entries, count);
  for (ssize_t i = 0; i < answer; ++i) {
    if ((out[i].flags & FI_RECV) != 0) to_lose = 0;
  }
  if (answer != -FI_EAGAIN || !busy) return answer;
  ::sched_yield();  // the reader does not, as it is busy
  out[0] = {};
  return 1;
}

ssize_t read_error(fid_cq* queue, fi_cq_err_entry* entry, std::uint64_t flags) {
  if (done.empty() || done.front().error == 0) return real_queue->readerr(queue, entry, flags);
  *entry = {};
  entry->op_context = done.front().context;
  entry->err = done.front().error;
  entry->flags = done.front().flags;
  done.pop_front();
  return 1;
}

// --- providers ---

// Returns a copy of a description with the provider's real name, or null if the description has that.
fi_info* with_real_name(const fi_info* info) {
  if (real_name.empty() || shown_name != info->fabric_attr->prov_name) return nullptr;
  static const auto duplicate = real(&fi_dupinfo, "fi_dupinfo");
  fi_info* const copy = duplicate(info);
  std::free(std::exchange(copy->fabric_attr->prov_name, ::strdup(real_name.c_str())));
  if (!real_device.empty()) std::free(std::exchange(copy->domain_attr->name, ::strdup(real_device.c_str())));
  return copy;
}

// A network card's description, which libfabric copies and releases by the functions of its object.
struct Card {
  fid_nic nic{};
  fi_bus_attr bus{};
  fi_link_attr link{};
};
fid_nic* make_card(unsigned number);
Card* card_of(fid* object) { return reinterpret_cast<Card*>(object); }
int close_card(fid* object) {
  delete card_of(object);
  return 0;
}
int control_card(fid* object, int command, void* argument) {
  if (command != FI_DUP) return -FI_ENOSYS;
  *static_cast<fid_nic**>(argument) = make_card(card_of(object)->bus.attr.pci.bus_id);
  return 0;
}
fi_ops functions_of_cards() {
  fi_ops functions{};
  functions.size = sizeof functions;
  functions.close = close_card;
  functions.control = control_card;
  return functions;
}
fi_ops card_functions = functions_of_cards();

fid_nic* make_card(unsigned number) {
  auto* const card = new Card;
  static_assert(offsetof(Card, nic) == 0 && offsetof(fid_nic, fid) == 0);
  card->nic.fid.fclass = FI_CLASS_NIC;
  card->nic.fid.ops = &card_functions;
  card->nic.bus_attr = &card->bus;
  card->nic.link_attr = &card->link;
  card->bus.bus_type = FI_BUS_PCI;
  card->bus.attr.pci.domain_id = 0xfffe;  // no machine has it
  card->bus.attr.pci.bus_id = static_cast<std::uint8_t>(number);
  card->link.state = FI_LINK_UP;
  return &card->nic;
}

// Replaces a device's description by `number` ones that are called card0, card1, ...
void list_cards(fi_info* first, unsigned number) {
  static const auto duplicate = real(&fi_dupinfo, "fi_dupinfo");
  real_device = first->domain_attr->name;
  fi_info* last = first;
  for (unsigned i = 0; i < number; ++i) {
    if (i != 0) {
      fi_info* const next = duplicate(first);
      next->next = std::exchange(last->next, next);
      last = next;
    }
    last->nic = make_card(i);
    std::free(std::exchange(last->domain_attr->name, ::strdup(("card" + std::to_string(i)).c_str())));
  }
}

bool is_first(const char* provider) { return shown_name == provider; }

int open_queue(fid_domain* domain, fi_cq_attr* attributes, fid_cq** queue, void* context) {
  const int made = real_domain->cq_open(domain, attributes, queue, context);
  if (made != 0) return made;
  fi_ops_cq* table = nullptr;
  real_queue = replace(&(*queue)->ops, &table);
  table->read = read_queue;
  table->readerr = read_error;
  return 0;
}

int open_endpoint(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context) {
  if (cannot("endpoint") && is_first(info->fabric_attr->prov_name)) return -FI_ENODEV;
  fi_info* const copy = with_real_name(info);
  static const auto release = real(&fi_freeinfo, "fi_freeinfo");
  const int made = real_domain->endpoint(domain, copy != nullptr ? copy : info, endpoint, context);
  if (copy != nullptr) release(copy);
  if (made == 0) take_over(*endpoint);
  return made;
}

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context) {
  if (cannot("domain") && is_first(info->fabric_attr->prov_name)) return -FI_ENODEV;
  fi_info* const copy = with_real_name(info);
  static const auto release = real(&fi_freeinfo, "fi_freeinfo");
  const int made = real_fabric->domain(fabric, copy != nullptr ? copy : info, domain, context);
  if (copy != nullptr) release(copy);
  if (made != 0) return made;
  fi_ops_domain* table = nullptr;
  real_domain = replace(&(*domain)->ops, &table);
  table->cq_open = open_queue;
  table->endpoint = open_endpoint;
  return 0;
}

// Held operations need rounds of progress.
int try_wait(fid_fabric* fabric, fid** objects, int count) {
  return held.empty() && done.empty() ? real_fabric->trywait(fabric, objects, count) : -FI_EAGAIN;
}

}  // namespace

// Not hidden, unlike everything else built here.
#pragma GCC visibility push(default)
extern "C" {

int fi_getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t flags, const fi_info* hints,
               fi_info** info) {
  static const auto get = real(&fi_getinfo, "fi_getinfo");
  if (node != nullptr && number_of("FAKE_OFI_NO_NODE") != 0 && !is_own_call(__builtin_return_address(0)))
    return -FI_ENODATA;
  const int answer = get(version, node, service, flags, hints, info);
  if (answer != 0 || is_own_call(__builtin_return_address(0))) return answer;
  real_name = (*info)->fabric_attr->prov_name;
  const char* const name = std::getenv("FAKE_OFI_PROVIDER");
  shown_name = name != nullptr ? name : real_name;
  for (fi_info* each = *info; each != nullptr; each = each->next) {
    char*& its = each->fabric_attr->prov_name;
    if (real_name == its) std::free(std::exchange(its, ::strdup(shown_name.c_str())));
  }
  if (const unsigned cards = number_of("FAKE_OFI_CARDS"); cards != 0) list_cards(*info, cards);
  return 0;
}

int fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
  static const auto open = real(&fi_fabric, "fi_fabric");
  if (is_own_call(__builtin_return_address(0))) return open(attributes, fabric, context);
  const bool first = is_first(attributes->prov_name);
  if (cannot("fabric") && first) return -FI_ENODEV;
  fi_fabric_attr own = *attributes;
  if (first) own.prov_name = real_name.data();
  const int made = open(&own, fabric, context);
  if (made != 0) return made;
  fi_ops_fabric* table = nullptr;
  real_fabric = replace(&(*fabric)->ops, &table);
  table->domain = open_domain;
  table->trywait = try_wait;
  return 0;
}

std::uint32_t fi_version() {
  static const auto version = real(&fi_version, "fi_version");
  return number_of("FAKE_OFI_OLD") != 0 ? FI_VERSION(1, 8) : version();
}

}  // extern "C"
#pragma GCC visibility pop
