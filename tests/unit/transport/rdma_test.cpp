// The RDMA devices that a directory like /sys/class/infiniband shows.
#include "transport/network/rdma.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace hr::transport {
namespace {

class Rdma : public testing::Test {
 protected:
  Rdma() : folder_(testing::TempDir() + "headrace-rdma-" + std::to_string(::getpid())) {}
  ~Rdma() override { std::filesystem::remove_all(folder_); }

  void port(const std::string& path, const std::string& state) {
    std::filesystem::create_directories(folder_ / path);
    std::ofstream(folder_ / path / "state") << state << '\n';
  }
  [[nodiscard]] std::vector<std::string> active() const { return network::active_rdma_devices(folder_); }

 private:
  std::filesystem::path folder_;
};

using Names = std::vector<std::string>;

TEST_F(Rdma, ThereIsNoDirectory) { EXPECT_EQ(active(), Names{}); }

TEST_F(Rdma, OnlyAnActivePortCounts) {
  port("mlx5_0/ports/1", "1: DOWN");
  port("mlx5_1/ports/1", "2: INIT");
  port("mlx5_2/ports/1", "5: ACTIVE_DEFER");
  port("mlx5_3", "4: ACTIVE");
  EXPECT_EQ(active(), Names{});
  port("mlx5_1/ports/2", "4: ACTIVE");
  EXPECT_EQ(active(), Names{"mlx5_1"});
}

TEST_F(Rdma, DevicesAreSorted) {
  port("mlx5_1/ports/1", "4: ACTIVE");
  port("efa_0/ports/1", "4: ACTIVE");
  EXPECT_EQ(active(), (Names{"efa_0", "mlx5_1"}));
}

}  // namespace
}  // namespace hr::transport
