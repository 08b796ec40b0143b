#include "fortran/sections.hpp"

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "fortran/errors.hpp"
#include "fortran/handles.hpp"

namespace hr::fortran {
namespace {

std::ptrdiff_t elements_of(const Shape& shape) noexcept {
  std::ptrdiff_t count = 1;
  for (int i = 0; i < shape.rank; ++i) count *= shape.extent[i];
  return count;
}

// Calls run(memory, dense) for each row of elements along the first dimension, in array element order.
template <class Run>
void each_run(const Shape& shape, char* dense, Run run) {
  std::ptrdiff_t index[kMaxRank] = {};
  const std::ptrdiff_t run_bytes = shape.extent[0] * shape.element_bytes;
  for (;;) {
    std::ptrdiff_t offset = 0;
    for (int i = 1; i < shape.rank; ++i) offset += index[i] * shape.stride[i];
    run(static_cast<char*>(shape.base) + offset, dense);
    dense += run_bytes;
    int i = 1;
    while (i < shape.rank && ++index[i] == shape.extent[i]) index[i++] = 0;
    if (i >= shape.rank) return;
  }
}

void copy_run(char* to, std::ptrdiff_t to_stride, const char* from, std::ptrdiff_t from_stride, const Shape& shape) {
  const auto bytes = static_cast<std::size_t>(shape.element_bytes);
  for (std::ptrdiff_t i = 0; i < shape.extent[0]; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, bytes);
}

void gather(const Shape& shape, void* dense) {
  each_run(shape, static_cast<char*>(dense),
           [&](char* memory, char* place) { copy_run(place, shape.element_bytes, memory, shape.stride[0], shape); });
}

void scatter(const Shape& shape, void* dense) {
  each_run(shape, static_cast<char*>(dense),
           [&](char* memory, char* place) { copy_run(memory, shape.stride[0], place, shape.element_bytes, shape); });
}

// True if all elements are equally spaced; *stride is then their distance.
bool even(const Shape& shape, std::ptrdiff_t* stride) noexcept {
  for (int i = 1; i < shape.rank; ++i) {
    if (shape.stride[i] != shape.stride[i - 1] * shape.extent[i - 1]) return false;
  }
  *stride = shape.stride[0];
  return true;
}

// Returns the size of a datatype whose elements follow one another without gaps; 0 for any other.
MPI_Count dense_bytes(MPI_Datatype type) noexcept {
  MPI_Count size = 0;
  MPI_Count low = 0;
  MPI_Count extent = 0;
  MPI_Count true_low = 0;
  MPI_Count true_extent = 0;
  if (PMPI_Type_size_c(type, &size) != MPI_SUCCESS || PMPI_Type_get_extent_c(type, &low, &extent) != MPI_SUCCESS ||
      PMPI_Type_get_true_extent_c(type, &true_low, &true_extent) != MPI_SUCCESS) {
    return 0;
  }
  return low == 0 && true_low == 0 && size == extent && size == true_extent ? size : 0;
}

// Creates datatypes; the destructor frees the intermediate ones.
class Maker {
 public:
  Maker() = default;
  Maker(const Maker&) = delete;
  Maker& operator=(const Maker&) = delete;
  ~Maker() {
    for (MPI_Datatype& part : parts_) PMPI_Type_free(&part);
  }
  MPI_Datatype vector(MPI_Count count, MPI_Count stride, MPI_Datatype of) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    note(PMPI_Type_create_hvector_c(count, 1, stride, of, &made));
    return part(made);
  }
  MPI_Datatype contiguous(MPI_Count count, MPI_Datatype of) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    note(PMPI_Type_contiguous_c(count, of, &made));
    return part(made);
  }
  MPI_Datatype resized(MPI_Datatype of, MPI_Count extent) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    note(PMPI_Type_create_resized_c(of, 0, extent, &made));
    return part(made);
  }
  MPI_Datatype both(MPI_Datatype first, MPI_Datatype second, MPI_Count offset) {
    const MPI_Count lengths[2] = {1, 1};
    const MPI_Count offsets[2] = {0, offset};
    const MPI_Datatype types[2] = {first, second};
    MPI_Datatype made = MPI_DATATYPE_NULL;
    note(PMPI_Type_create_struct_c(2, lengths, offsets, types, &made));
    return part(made);
  }
  // Commits the final type and returns it; the caller frees it.
  int take(MPI_Datatype made, MPI_Datatype* type) {
    if (code_ != MPI_SUCCESS) return code_;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i] == made) {
        parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
    }
    *type = made;
    return PMPI_Type_commit(type);
  }

 private:
  void note(int code) {
    if (code_ == MPI_SUCCESS) code_ = code;
  }
  MPI_Datatype part(MPI_Datatype made) {
    if (made != MPI_DATATYPE_NULL) parts_.push_back(made);
    return made;
  }
  std::vector<MPI_Datatype> parts_;
  int code_ = MPI_SUCCESS;
};

// Creates a type of the first `count` elements of the section.
MPI_Datatype first(Maker& maker, const Shape& shape, MPI_Count count, MPI_Datatype element) {
  MPI_Count inner[kMaxRank];
  inner[0] = 1;
  for (int i = 1; i < shape.rank; ++i) inner[i] = inner[i - 1] * shape.extent[i - 1];
  MPI_Datatype whole[kMaxRank + 1];  // types of all elements of the lower dimensions
  whole[0] = element;
  MPI_Datatype rest = MPI_DATATYPE_NULL;  // before round i: the first count % inner[i] elements
  for (int i = 0; i < shape.rank; ++i) {
    const MPI_Count full = count / inner[i] % shape.extent[i];
    const bool top = i + 1 == shape.rank;
    const MPI_Count rows = top ? count / inner[i] : full;
    if (rows > 0) {
      const MPI_Datatype block = maker.vector(rows, shape.stride[i], whole[i]);
      rest = rest == MPI_DATATYPE_NULL ? block : maker.both(block, rest, rows * shape.stride[i]);
    }
    if (!top) whole[i + 1] = maker.vector(shape.extent[i], shape.stride[i], whole[i]);
  }
  return rest;
}

constexpr MPI_Count kAnyNumber = -1;  // any number of elements

// Cache of a thread's recent datatypes of sections, because creating and committing one takes longer than sending a
// short message. Only predefined element types are used as keys, because the handle of another type may be reused.
struct Known {
  Shape shape;
  MPI_Count count = 0;
  MPI_Datatype element = nullptr;  // none
  MPI_Datatype made = MPI_DATATYPE_NULL;
};
constexpr std::size_t kKnown = 16;
// A single word per thread, so that it fits into the static thread-local storage of the initial-exec model. The table
// is not freed when the thread ends, because its datatypes may be in use.
__attribute__((tls_model("initial-exec"))) thread_local Known* known = nullptr;

bool same(const Shape& a, const Shape& b) noexcept {
  if (a.rank != b.rank || a.element_bytes != b.element_bytes) return false;
  for (int i = 0; i < a.rank; ++i) {
    if (a.extent[i] != b.extent[i] || a.stride[i] != b.stride[i]) return false;
  }
  return true;
}

Known& place_of(const Shape& shape, MPI_Count count, MPI_Datatype element) {
  std::uintptr_t hash = reinterpret_cast<std::uintptr_t>(element) + static_cast<std::uintptr_t>(count);
  for (int i = 0; i < shape.rank; ++i) {
    hash = hash * 31 + static_cast<std::uintptr_t>(shape.extent[i]) * 7 + static_cast<std::uintptr_t>(shape.stride[i]);
  }
  if (known == nullptr) [[unlikely]]
    known = new Known[kKnown];
  return known[hash % kKnown];
}

bool predefined(MPI_Datatype type) noexcept { return reinterpret_cast<std::uintptr_t>(type) < kFirstNumber; }

// Replaces *type with the cached type for `count` elements of it in this section; false if none is cached.
bool find_known(const Shape& shape, MPI_Count count, MPI_Datatype* type) {
  const Known& place = place_of(shape, count, *type);
  if (place.element != *type || place.count != count || !same(place.shape, shape)) return false;
  *type = place.made;
  return true;
}

// Creates a type with make(maker) and stores it in the table, which owns it. The type that it replaces may still be in
// use; MPI then frees it later.
template <class Make>
int make_known(const Shape& shape, MPI_Count count, MPI_Datatype* type, Make make) {
  Known& place = place_of(shape, count, *type);
  Maker maker;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const int code = maker.take(make(maker), &made);
  if (code != MPI_SUCCESS) return code;
  if (place.made != MPI_DATATYPE_NULL) PMPI_Type_free(&place.made);
  place = {shape, count, predefined(*type) ? *type : nullptr, made};
  *type = made;
  return MPI_SUCCESS;
}

// Copied buffers of active requests.
struct Deferred {
  void* copy;
  bool received;
  Shape shape;
};
std::mutex deferred_lock;
std::unordered_multimap<MPI_Request, Deferred> deferred;

}  // namespace

int deferred_copies = 0;

int Section::describe_message(MPI_Count* count, MPI_Datatype* type) {
  if (*count <= 0) return MPI_SUCCESS;
  if (find_known(shape_, *count, type)) {
    *count = 1;
    return MPI_SUCCESS;
  }
  const MPI_Count bytes = dense_bytes(*type);
  const MPI_Count element = shape_.element_bytes;
  if (bytes == 0 || element % bytes != 0 || *count * bytes % element != 0) {
    address_ = shape_.base;
    return copy();
  }
  const MPI_Count wanted = *count * bytes / element;
  if (wanted > elements_of(shape_)) {
    return error(MPI_ERR_COUNT, "the message is longer than the array section that was passed as its buffer");
  }
  const int code = make_known(shape_, *count, type, [&](Maker& maker) {
    return first(maker, shape_, wanted, element == bytes ? *type : maker.contiguous(element / bytes, *type));
  });
  *count = 1;
  return code;
}

int Section::elements(MPI_Datatype* type) {
  if (find_known(shape_, kAnyNumber, type)) return MPI_SUCCESS;
  std::ptrdiff_t stride = 0;
  if (!even(shape_, &stride) || dense_bytes(*type) != shape_.element_bytes) return copy();
  return make_known(shape_, kAnyNumber, type, [&](Maker& maker) { return maker.resized(*type, stride); });
}

int Section::copy() {
  const auto bytes = static_cast<std::size_t>(elements_of(shape_) * shape_.element_bytes);
  copy_ = std::malloc(bytes);
  if (copy_ == nullptr) return error(MPI_ERR_NO_MEM, "no memory for a copy of an array section");
  gather(shape_, copy_);
  address_ = copy_;
  return MPI_SUCCESS;
}

int Section::storage() {
  return error(MPI_ERR_BUFFER,
               "the buffer is an array section with gaps; MPI needs memory that lies in one piece here");
}

void Section::end() {
  if (copy_ != nullptr) scatter(shape_, copy_);
}

void Section::release() noexcept { std::free(copy_); }

void Section::defer(MPI_Request request, bool received) {
  if (copy_ == nullptr) return;
  const std::lock_guard guard(deferred_lock);
  deferred.emplace(request, Deferred{copy_, received, shape_});
  copy_ = nullptr;
  __atomic_add_fetch(&deferred_copies, 1, __ATOMIC_RELEASE);
}

int no_copies(const char* function) {
  return error(MPI_ERR_UNSUPPORTED_OPERATION,
               (std::string(function) +
                ": this array section with this datatype would have to be copied, which a persistent or one-sided "
                "operation cannot; pass a contiguous array")
                   .c_str());
}

void finish(MPI_Request request) {
  const std::lock_guard guard(deferred_lock);
  const auto [begin, end] = deferred.equal_range(request);
  for (auto entry = begin; entry != end; ++entry) {
    if (entry->second.received) scatter(entry->second.shape, entry->second.copy);
    std::free(entry->second.copy);
    __atomic_sub_fetch(&deferred_copies, 1, __ATOMIC_RELEASE);
  }
  deferred.erase(begin, end);
}

void abandon(MPI_Request request) {
  if (__atomic_load_n(&deferred_copies, __ATOMIC_ACQUIRE) == 0) return;
  const std::lock_guard guard(deferred_lock);
  const auto given_up = static_cast<int>(deferred.erase(request));
  __atomic_sub_fetch(&deferred_copies, given_up, __ATOMIC_RELEASE);
}

}  // namespace hr::fortran
