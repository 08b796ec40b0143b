// The adapters that directories like /sys/class and /dev show.
#include "transport/network/rdma.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace hr::transport {
namespace {

using Names = std::vector<std::string>;

class Rdma : public testing::Test {
 protected:
  Rdma() : folder_(testing::TempDir() + "headrace-rdma-" + std::to_string(::getpid())) {}
  ~Rdma() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text << '\n';
  }
  void port(const std::string& path, const std::string& state) { write("class/infiniband/" + path + "/state", state); }
  void verbs(const std::string& number, const std::string& name) {
    write("class/infiniband_verbs/uverbs" + number + "/ibdev", name);
  }
  void file(const std::string& path) { write("dev/" + path, ""); }
  [[nodiscard]] network::RdmaDevices found() const {
    return network::find_rdma_devices(folder_ / "class", folder_ / "dev");
  }
  // An adapter with an active port and its device file.
  void adapter(const std::string& number, const std::string& name) {
    port(name + "/ports/1", "4: ACTIVE");
    verbs(number, name);
    file("infiniband/uverbs" + number);
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(Rdma, ThereIsNoDirectory) {
  EXPECT_EQ(found().rdma, Names{});
  EXPECT_EQ(found().cxi, Names{});
  EXPECT_EQ(found().unusable, "");
}

TEST_F(Rdma, OnlyAnActivePortCounts) {
  for (const char* number : {"0", "1", "2", "3"}) {
    verbs(number, std::string("mlx5_") + number);
    file(std::string("infiniband/uverbs") + number);
  }
  port("mlx5_0/ports/1", "1: DOWN");
  port("mlx5_1/ports/1", "2: INIT");
  port("mlx5_2/ports/1", "5: ACTIVE_DEFER");
  port("mlx5_3", "4: ACTIVE");
  EXPECT_EQ(found().rdma, Names{});
  port("mlx5_1/ports/2", "4: ACTIVE");
  EXPECT_EQ(found().rdma, Names{"mlx5_1"});
  EXPECT_EQ(found().unusable, "");
}

TEST_F(Rdma, DevicesAreSorted) {
  adapter("0", "mlx5_1");
  adapter("1", "efa_0");
  EXPECT_EQ(found().rdma, (Names{"efa_0", "mlx5_1"}));
}

TEST_F(Rdma, AnAdapterNeedsItsOwnDeviceFile) {
  port("mlx5_0/ports/1", "4: ACTIVE");
  EXPECT_EQ(found().rdma, Names{});
  EXPECT_EQ(found().unusable, "mlx5_0 cannot be used: there is no device file for it in /sys/class/infiniband_verbs");
  verbs("7", "mlx5_0");
  file("infiniband/uverbs0");
  EXPECT_EQ(found().rdma, Names{});
  EXPECT_NE(found().unusable.find("/dev/infiniband/uverbs7 cannot be opened: No such file"), std::string::npos);
  adapter("8", "mlx5_1");
  EXPECT_EQ(found().rdma, Names{"mlx5_1"});
  file("infiniband/uverbs7");
  EXPECT_EQ(found().rdma, (Names{"mlx5_0", "mlx5_1"}));
  EXPECT_EQ(found().unusable, "");
}

TEST_F(Rdma, OmniPathAndSlingshotHaveFilesOfTheirName) {
  port("hfi1_0/ports/1", "4: ACTIVE");
  verbs("0", "hfi1_0");
  file("infiniband/uverbs0");
  write("class/cxi/cxi0/fabric", "");
  write("class/cxi/cxi1/fabric", "");
  EXPECT_EQ(found().rdma, Names{});
  EXPECT_EQ(found().cxi, Names{});
  EXPECT_NE(found().unusable.find("/dev/cxi0 cannot be opened"), std::string::npos);
  file("hfi1_0");
  file("cxi1");
  EXPECT_EQ(found().rdma, Names{"hfi1_0"});
  EXPECT_EQ(found().cxi, Names{"cxi1"});
}

}  // namespace
}  // namespace hr::transport
