// Addresses that another process has published, of any length and content. They are read from memory of exactly their
// length, so that the sanitizers find every byte that is read beyond it.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <rdma/fabric.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "transport/network/socket_address.hpp"
#include "transport/ofi/address.hpp"

namespace hr::transport::ofi {
namespace {

template <class Plain>
std::vector<std::byte> bytes_of(const Plain& plain) {
  const auto bytes = std::as_bytes(std::span(&plain, 1));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> four() {
  sockaddr_in made{};
  made.sin_family = AF_INET;
  made.sin_port = htons(4242);
  made.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return bytes_of(made);
}

std::vector<std::byte> six() {
  sockaddr_in6 made{};
  made.sin6_family = AF_INET6;
  made.sin6_port = htons(4242);
  made.sin6_addr = in6addr_loopback;
  return bytes_of(made);
}

std::vector<std::byte> first(const std::vector<std::byte>& bytes, std::size_t count) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

TEST(OfiAddress, IsReadAsItWasWritten) {
  const Address written{
      .terms = "tcp;ofi_rxm with A=1", .place = four(), .closed_port = 99, .secret = 0x0123456789abcdef};
  const std::vector<std::byte> bytes = encode_address(written);
  Address read;
  ASSERT_TRUE(decode_address(bytes, &read));
  EXPECT_EQ(read.terms, written.terms);
  EXPECT_EQ(read.place, written.place);
  EXPECT_EQ(read.closed_port, written.closed_port);
  EXPECT_EQ(read.secret, written.secret);
}

// A part of an address is rejected, or its place is: all of it is there, or the provider would read what is not.
TEST(OfiAddress, APartIsRejected) {
  for (const auto& place : {four(), six()}) {
    const std::vector<std::byte> bytes = encode_address({.terms = "tcp", .place = place, .secret = ~std::uint64_t{0}});
    for (std::size_t count = 0; count < bytes.size(); ++count) {
      Address read;
      if (!decode_address(first(bytes, count), &read)) continue;
      EXPECT_FALSE(is_place(FI_SOCKADDR, read.place)) << count;
    }
  }
}

TEST(OfiAddress, LengthAndFamilyOfSockets) {
  sockaddr_storage socket{};
  for (const std::uint32_t format : {FI_SOCKADDR, FI_SOCKADDR_IN, FI_SOCKADDR_IN6}) {
    EXPECT_EQ(is_place(format, four()), format != FI_SOCKADDR_IN6);
    EXPECT_EQ(is_place(format, six()), format != FI_SOCKADDR_IN);
    for (const auto& place : {four(), six()}) {
      for (std::size_t count = 0; count < place.size(); ++count) {
        EXPECT_FALSE(is_place(format, first(place, count))) << format << ", " << count;
        EXPECT_FALSE(socket_of(format, first(place, count), &socket)) << format << ", " << count;
      }
    }
    for (const int family : {AF_UNSPEC, AF_UNIX, 255}) {
      std::vector<std::byte> other(sizeof(sockaddr_storage), std::byte{1});
      const auto its = static_cast<sa_family_t>(family);
      std::memcpy(other.data(), &its, sizeof its);
      EXPECT_FALSE(is_place(format, other)) << format << ", " << family;
    }
  }
  ASSERT_TRUE(socket_of(FI_SOCKADDR, four(), &socket));
  EXPECT_EQ(network::text_of(socket), "127.0.0.1:4242");
  std::vector<std::byte> longer = six();
  longer.resize(sizeof(sockaddr_storage));
  ASSERT_TRUE(socket_of(FI_SOCKADDR_IN6, longer, &socket));
  EXPECT_EQ(network::text_of(socket), "[::1]:4242");
}

TEST(OfiAddress, OtherFormats) {
  const std::vector<std::byte> text = {std::byte{'f'}, std::byte{'i'}, std::byte{0}};
  EXPECT_TRUE(is_place(FI_ADDR_STR, text));
  EXPECT_FALSE(is_place(FI_ADDR_STR, first(text, 2)));
  EXPECT_TRUE(is_place(FI_SOCKADDR_IB, std::vector<std::byte>(48)));
  EXPECT_FALSE(is_place(FI_SOCKADDR_IB, std::vector<std::byte>(47)));
  sockaddr_storage socket{};
  for (const std::uint32_t format : {FI_ADDR_PSMX2, FI_ADDR_GNI}) {
    EXPECT_FALSE(is_place(format, {}));
    EXPECT_TRUE(is_place(format, std::vector<std::byte>(kMostPlace)));
    EXPECT_FALSE(is_place(format, std::vector<std::byte>(kMostPlace + 1)));
    EXPECT_FALSE(socket_of(format, four(), &socket));
  }
}

}  // namespace
}  // namespace hr::transport::ofi
