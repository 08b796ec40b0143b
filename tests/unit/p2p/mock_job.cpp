#include "mock_job.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "boot/provider.hpp"
#include "transport/record_list.hpp"
#include "transport/self/self.hpp"

namespace hr {
namespace {

int job_size = mock_job::kSize;

// Each process is alone on its node.
class MockProvider final : public boot::Provider {
 public:
  Status connect(boot::Identity* identity, std::vector<int>* hosts) override {
    identity->rank = 0;
    identity->size = job_size;
    identity->job_id = "mock";
    for (int rank = 0; rank < job_size; ++rank) hosts->push_back(rank);
    return kOk;
  }
  Status put(std::string_view key, std::string_view value) override {
    values_.insert_or_assign(std::string(key), std::string(value));
    return kOk;
  }
  Status get(int /*owner*/, std::string_view key, std::string* value) override {
    const auto found = values_.find(key);
    if (found != values_.end()) *value = found->second;
    return kOk;
  }
  Status fence() override { return kOk; }
  Status finalize() override { return kOk; }
  void abort(int) noexcept override {}

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

const boot::ProviderRecord kMockProvider = {
    "mock", []() noexcept { return true; },
    []() -> std::unique_ptr<boot::Provider> { return std::make_unique<MockProvider>(); }};

}  // namespace

void mock_job::set_size(int size) noexcept { job_size = size; }

// These functions replace the library's own lists.
std::span<const boot::ProviderRecord* const> boot::provider_list() noexcept {
  static constexpr const ProviderRecord* kList[] = {&kMockProvider};
  return kList;
}

std::span<const transport::Record* const> transport::record_list() noexcept {
  static constexpr const Record* kRecords[] = {&self::kRecord, &mock::kRecord, &mock::kSecondRecord};
  return kRecords;
}

}  // namespace hr
