// The paths of UCX: those on which it moves memory without involving the target process, and TCP.
#include <gtest/gtest.h>

#include "transport/ucx/maker_names.hpp"
#include "transport/ucx/path.hpp"
#include "transport/ucx/tcp_use.hpp"

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

TEST(UcxPath, SettingsThatLetUcxListenOutsideTheLoopback) {
  for (const char* paths : {"all", "tcp", "rc,tcp,self", "^shm", "^rc,shm", ucx::kNetworkPaths}) {
    EXPECT_TRUE(ucx::may_use_tcp_outside(paths, "")) << paths;
    EXPECT_TRUE(ucx::may_use_tcp_outside(paths, "all")) << paths;
    EXPECT_TRUE(ucx::may_use_tcp_outside(paths, "lo,mlx5_0:1,eth0")) << paths;
    EXPECT_FALSE(ucx::may_use_tcp_outside(paths, "lo")) << paths;
    EXPECT_FALSE(ucx::may_use_tcp_outside(paths, "lo,mlx5_0:1")) << paths;
  }
  for (const char* paths : {"rc", "rc,ud,self", "^tcp", "^shm,tcp", ucx::kNetworkPathsWithoutTcp}) {
    EXPECT_FALSE(ucx::may_use_tcp_outside(paths, "")) << paths;
    EXPECT_FALSE(ucx::may_use_tcp_outside(paths, "eth0")) << paths;
  }
}

}  // namespace
}  // namespace hr::transport
