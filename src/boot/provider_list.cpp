#include "boot/provider.hpp"

namespace hr::boot {

extern const ProviderRecord kPmi1Provider;
extern const ProviderRecord kPmixProvider;
extern const ProviderRecord kSingletonProvider;

std::span<const ProviderRecord* const> provider_list() noexcept {
  // The singleton always applies, so it is last.
  static constexpr const ProviderRecord* kList[] = {&kPmi1Provider, &kPmixProvider, &kSingletonProvider};
  return kList;
}

}  // namespace hr::boot
