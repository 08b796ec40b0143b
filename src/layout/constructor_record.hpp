// Record: collects a constructor's arguments in the order that section 5.1.13 defines, and creates the type.
#pragma once

#include <utility>

#include "layout/constructors.hpp"

namespace hr::layout {

class Record {
 public:
  Record(int combiner, CallForm form) : large_(form == CallForm::kLarge) { contents_.combiner = combiner; }

  // Adds an argument that is `int` in every form.
  Record& integer(int value) {
    contents_.integers.push_back(value);
    return *this;
  }
  // Adds an argument that is `int` in the plain form, MPI_Count in the large one.
  Record& count(Count value) {
    if (large_) {
      contents_.counts.push_back(value);
    } else {
      contents_.integers.push_back(static_cast<int>(value));
    }
    return *this;
  }
  Record& counts(CountArray values, Count n) {
    for (Count i = 0; i < n; ++i) count(values[static_cast<std::size_t>(i)]);
    return *this;
  }
  // Adds an argument that is MPI_Aint in the plain form, MPI_Count in the large one.
  Record& address(Count value) {
    (large_ ? contents_.counts : contents_.addresses).push_back(value);
    return *this;
  }
  Record& addresses(CountArray values, Count n) {
    for (Count i = 0; i < n; ++i) address(values[static_cast<std::size_t>(i)]);
    return *this;
  }
  Record& type(Datatype& old) {
    contents_.types.push_back(Ref<Datatype>::share(&old));
    return *this;
  }

  // Creates the new type with this record and `map`.
  Status finish(TypemapRef map, Ref<Datatype>* type) {
    Datatype* made = Arena<Datatype>::instance().create();
    if (made == nullptr) {
      return fail(Errc::kNoMem, "no memory for another datatype (%zu are alive); free those no longer needed",
                  Arena<Datatype>::instance().live());
    }
    made->set_typemap(std::move(map));
    made->contents_ = std::move(contents_);
    *type = Ref<Datatype>::adopt(made);
    return kOk;
  }

 private:
  Contents contents_;
  bool large_;
};

}  // namespace hr::layout
