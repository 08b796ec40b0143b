#include "io/file_form.hpp"

#include <vector>

#include "base/abi.hpp"
#include "layout/constructors.hpp"
#include "layout/external32.hpp"
#include "layout/op.hpp"

namespace hr::io {
namespace {

using layout::CallForm;
using layout::Contents;
using layout::Datatype;

// Arguments of a constructor in their order, from the arrays in which layout/constructor_record.hpp stores them.
class Arguments {
 public:
  explicit Arguments(const Contents& contents) : contents_(contents), large_(!contents.counts.empty()) {}

  int integer() { return contents_.integers[integer_++]; }
  Count count() { return large_ ? contents_.counts[count_++] : contents_.integers[integer_++]; }
  Count address() { return large_ ? contents_.counts[count_++] : contents_.addresses[address_++]; }
  std::vector<Count> counts(Count n) {
    std::vector<Count> values;
    for (Count i = 0; i < n; ++i) values.push_back(count());
    return values;
  }
  std::vector<Count> addresses(Count n) {
    std::vector<Count> values;
    for (Count i = 0; i < n; ++i) values.push_back(address());
    return values;
  }
  std::vector<int> integers(Count n) {
    std::vector<int> values;
    for (Count i = 0; i < n; ++i) values.push_back(integer());
    return values;
  }

 private:
  const Contents& contents_;
  bool large_;
  std::size_t integer_ = 0, count_ = 0, address_ = 0;
};

constexpr CallForm kForm = CallForm::kLarge;

Status leaf_form(Datatype& type, const Representation& representation, Ref<Datatype>* form) {
  Count bytes = layout::external32_size(type);
  if (!representation.external32) HR_TRY(representation.extent(type, &bytes));
  if (bytes < 0)
    return fail(Errc::kConversion, "%s has %lld bytes in the data representation \"%s\"", type.name().c_str(),
                static_cast<long long>(bytes), representation.name.c_str());
  return layout::make_contiguous(bytes, *layout::predefined_type(abi::kByte), kForm, form);
}

Status array_form(int combiner, Arguments& arguments, Datatype& old, Ref<Datatype>* form) {
  if (combiner == abi::kCombinerSubarray) {
    const int ndims = arguments.integer();
    const std::vector<Count> sizes = arguments.counts(ndims);
    const std::vector<Count> subsizes = arguments.counts(ndims);
    const std::vector<Count> starts = arguments.counts(ndims);
    const int order = arguments.integer();
    return layout::make_subarray(ndims, sizes.data(), subsizes.data(), starts.data(), order, old, kForm, form);
  }
  const int size = arguments.integer();
  const int rank = arguments.integer();
  const int ndims = arguments.integer();
  const std::vector<Count> sizes = arguments.counts(ndims);
  const std::vector<int> distribs = arguments.integers(ndims);
  const std::vector<int> dargs = arguments.integers(ndims);
  const std::vector<int> psizes = arguments.integers(ndims);
  const int order = arguments.integer();
  return layout::make_darray(size, rank, ndims, sizes.data(), distribs.data(), dargs.data(), psizes.data(), order, old,
                             kForm, form);
}

// Calls the same constructor with another type (for a structure, with other types).
Status rebuild(int combiner, Arguments& arguments, std::vector<Datatype*>& parts, Ref<Datatype>* form) {
  Datatype& old = *parts[0];
  switch (combiner) {
    case abi::kCombinerDup:
      return layout::make_dup(old, form);
    case abi::kCombinerContiguous:
      return layout::make_contiguous(arguments.count(), old, kForm, form);
    case abi::kCombinerSubarray:
    case abi::kCombinerDarray:
      return array_form(combiner, arguments, old, form);
    case abi::kCombinerResized: {
      const Count lb = arguments.address();
      return layout::make_resized(old, lb, arguments.address(), kForm, form);
    }
    default:
      break;
  }
  const Count count = arguments.count();
  switch (combiner) {
    case abi::kCombinerVector:
    case abi::kCombinerHvector: {
      const Count block = arguments.count();
      if (combiner == abi::kCombinerHvector)
        return layout::make_hvector(count, block, arguments.address(), old, kForm, form);
      return layout::make_vector(count, block, arguments.count(), old, kForm, form);
    }
    case abi::kCombinerIndexed: {
      const std::vector<Count> blocks = arguments.counts(count);
      return layout::make_indexed(count, blocks.data(), arguments.counts(count).data(), old, kForm, form);
    }
    case abi::kCombinerHindexed: {
      const std::vector<Count> blocks = arguments.counts(count);
      return layout::make_hindexed(count, blocks.data(), arguments.addresses(count).data(), old, kForm, form);
    }
    case abi::kCombinerIndexedBlock: {
      const Count block = arguments.count();
      return layout::make_indexed_block(count, block, arguments.counts(count).data(), old, kForm, form);
    }
    case abi::kCombinerHindexedBlock: {
      const Count block = arguments.count();
      return layout::make_hindexed_block(count, block, arguments.addresses(count).data(), old, kForm, form);
    }
    case abi::kCombinerStruct: {
      const std::vector<Count> blocks = arguments.counts(count);
      return layout::make_struct(count, blocks.data(), arguments.addresses(count).data(), parts, kForm, form);
    }
    default:
      return fail(Errc::kType, "a datatype of combiner %d cannot be converted to another data representation",
                  combiner);
  }
}

Status form_of(Datatype& type, const Representation& representation, Ref<Datatype>* form) {
  if (type.row_ != nullptr) return leaf_form(type, representation, form);
  const Contents& contents = type.contents();
  std::vector<Ref<Datatype>> forms(contents.types.size());
  std::vector<Datatype*> parts;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    HR_TRY(form_of(*contents.types[i], representation, &forms[i]));
    parts.push_back(forms[i].get());
  }
  if (parts.empty()) return layout::make_contiguous(0, *layout::predefined_type(abi::kByte), kForm, form);
  Arguments arguments(contents);
  return rebuild(contents.combiner, arguments, parts, form);
}

}  // namespace

Status file_form(Datatype& type, const Representation& representation, Ref<Datatype>* form) {
  if (representation.memorys) {
    *form = Ref<Datatype>::share(&type);
    return kOk;
  }
  HR_TRY(form_of(type, representation, form));
  return (*form)->commit();
}

}  // namespace hr::io
