#include "area.hpp"

#include "common/check.hpp"

namespace random_collectives {
namespace {
constexpr std::byte kPoison{0xa7};
}

Area::Area(const Type& type, int elements, const Place& place)
    : element_type_(type),
      distance_(place.gaps ? 2 * type.bytes : type.bytes),
      memory_(2 * kGuard + static_cast<std::size_t>(elements) * distance_, place.kind, place.device),
      image_(memory_.size(), kPoison) {
  if (place.gaps) {
    CHECK_OK(MPI_Type_create_resized(type.type, 0, distance(), &datatype_));
    CHECK_OK(MPI_Type_commit(&datatype_));
  } else {
    datatype_ = type.type;
  }
}

Area::~Area() {
  if (datatype_ != element_type_.type) MPI_Type_free(&datatype_);
}

void Area::store(int element, const Element& value) { element_type_.store(value, image_.data() + offset(element)); }

void Area::upload() { memory_.write(image_); }

void Area::ignore(int element) {
  if (ignored_.empty()) ignored_.resize(image_.size());
  for (std::size_t i = 0; i < element_type_.bytes; ++i) ignored_[offset(element) + i] = true;
}

void Area::verify(const std::string& what) const {
  const std::vector<std::byte> found = memory_.read();
  if (found == image_) return;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == image_[i] || (!ignored_.empty() && ignored_[i])) continue;
    const auto at = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(kGuard);
    check::fail(__FILE__, __LINE__,
                what + ": in " + name_of(memory_.kind()) + " memory of device " + std::to_string(memory_.device()) +
                    ", elements of type " + element_type_.name + " " + std::to_string(distance_) +
                    " bytes apart, byte " + std::to_string(at) + " is " +
                    std::to_string(std::to_integer<int>(found[i])) + ", not " +
                    std::to_string(std::to_integer<int>(image_[i])));
  }
}

}  // namespace random_collectives
