// The paths of UCX on which it moves memory without involving the target process.
#include <gtest/gtest.h>

#include "transport/ucx/path.hpp"

namespace hr::transport {
namespace {

TEST(UcxPath, MemoryIsLeftToTheNetworkWhereTheNetworkMovesIt) {
  EXPECT_TRUE(ucx::moves_memory("rc_mlx5/mlx5_0:1"));
  EXPECT_TRUE(ucx::moves_memory("tcp/eth0, rc_verbs/mlx5_0:1"));
  EXPECT_TRUE(ucx::moves_memory("dc_mlx5/mlx5_1:1, ud_mlx5/mlx5_1:1"));
  EXPECT_FALSE(ucx::moves_memory("tcp/eth0, tcp/eth1"));
  EXPECT_FALSE(ucx::moves_memory("ud_mlx5/mlx5_1:1"));
  EXPECT_FALSE(ucx::moves_memory(""));
}

}  // namespace
}  // namespace hr::transport
