// Lists all variants, in the order of the course (docs/course/diffusion2d.md).
#include "variant.hpp"

namespace diffusion2d {

extern const VariantRecord kStaged, kDevice, kOverlap;

const std::vector<const VariantRecord*>& all_variants() {
  static const std::vector<const VariantRecord*> records = {&kStaged, &kDevice, &kOverlap};
  return records;
}

std::vector<const VariantRecord*> find_variants(const std::vector<std::string>& names, std::string& message) {
  std::vector<const VariantRecord*> found;
  std::string known;
  for (const VariantRecord* record : all_variants()) known += std::string(record->name) + ", ";
  for (const std::string& name : names) {
    const std::size_t before = found.size();
    for (const VariantRecord* record : all_variants()) {
      if (name == "all" || name == record->name) found.push_back(record);
    }
    if (found.size() == before) {
      message = "there is no variant '" + name + "'; " + known + "or all would do";
      return {};
    }
  }
  return found;
}

}  // namespace diffusion2d
