// Common parts of the tests on the mock transport.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/abi.hpp"
#include "boot/boot.hpp"
#include "layout/op.hpp"
#include "mock_job.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p {

// Progress rounds within which every operation here ends, unless a test sets a larger bound.
inline constexpr int kBound = 1000;
inline constexpr std::uint32_t kContext = 16;

class OnMock : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(boot::init().ok());
    ASSERT_TRUE(init().ok()) << take_detail();
    set_context_members({[](std::uint32_t, int source) { return source; },
                         [](std::uint32_t, int index) { return index < mock_job::kSize ? index : -1; }});
  }
  void TearDown() override {
    EXPECT_TRUE(finalize().ok()) << take_detail();
    EXPECT_EQ(transport::mock::network(), nullptr);
    EXPECT_TRUE(boot::finalize().ok());
  }

  static transport::mock::Network& network() { return *transport::mock::network(); }
  static std::vector<unsigned char> data_of(std::size_t bytes, unsigned seed = 1) {
    std::vector<unsigned char> data(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      data[i] = static_cast<unsigned char>((i + 1) * (2 * seed + 1) * 40503U >> 7);
    return data;
  }
  static layout::View view_of(std::vector<unsigned char>& data) {
    layout::View view;
    EXPECT_TRUE(
        layout::make_view(data.data(), static_cast<Count>(data.size()), *layout::predefined_type(abi::kByte), &view)
            .ok());
    return view;
  }
  static Request* start_send(std::vector<unsigned char>& data, int to, int tag, Mode mode = Mode::kStandard) {
    Request* request = nullptr;
    EXPECT_TRUE(isend(view_of(data), to, {kContext, 0, tag}, mode, &request).ok());
    return request;
  }
  static Request* start_receive(std::vector<unsigned char>& data, int source, int tag) {
    Request* request = nullptr;
    EXPECT_TRUE(ireceive(view_of(data), {kContext, source, tag}, &request).ok());
    return request;
  }
  // Polls until the request is complete; returns false if that exceeds the bound.
  static bool ends(const Request* request, int bound = kBound) {
    for (int round = 0; round < bound && !request->complete(); ++round) poll();
    return request->complete();
  }
  static void poll_some(int rounds = 50) {
    for (int round = 0; round < rounds; ++round) poll();
  }
  // Expects that the request ended with a process-failure error whose message names the process, and releases the
  // request.
  static void expect_failed(Request* request, int proc) {
    ASSERT_TRUE(ends(request));
    EXPECT_EQ(request->completion_.error.errc(), Errc::kProcFailed);
    EXPECT_NE(request->detail().find("rank " + std::to_string(proc)), std::string::npos) << request->detail();
    release(request);
  }
  static void expect_ok(Request* request) {
    ASSERT_TRUE(ends(request));
    EXPECT_TRUE(request->completion_.error.ok()) << request->detail();
    release(request);
  }

  // --- The other processes ---
  static void eager_from(int proc, int tag, const std::vector<unsigned char>& data) {
    network().send_from(proc, wire::envelope(wire::Kind::kEager, {kContext, proc, tag}, data.size()), data.data(),
                        data.size());
  }
  static void send_rts_from(int proc, int tag, std::uint64_t cookie, const std::vector<unsigned char>& data,
                            bool readable) {
    const wire::Rts rts{cookie, readable ? reinterpret_cast<std::uint64_t>(data.data()) : 0, 0, 0};
    network().send_from(proc, wire::envelope(wire::Kind::kRts, {kContext, proc, tag}, data.size()), &rts, sizeof rts);
  }
  static wire::Kind kind_of(const transport::mock::Message& message) {
    return static_cast<wire::Kind>(transport::kind_of(message.header));
  }
  // Returns the next message to that process, which must have this kind.
  static transport::mock::Message expect(int proc, wire::Kind kind) {
    for (int round = 0; round < kBound && network().waiting(proc) == 0; ++round) poll();
    auto message = network().take(proc);
    if (!message) {
      ADD_FAILURE() << "nothing was sent to process " << proc;
      return {};
    }
    EXPECT_EQ(static_cast<int>(kind_of(*message)), static_cast<int>(kind));
    return *message;
  }
  template <class T>
  static T payload_of(const transport::mock::Message& message) {
    T value{};
    EXPECT_GE(message.payload.size(), sizeof value);
    if (message.payload.size() >= sizeof value) std::memcpy(&value, message.payload.data(), sizeof value);
    return value;
  }
  // Sends the clear-to-send, and receives the data until the send is complete.
  static std::vector<unsigned char> stream_to(int proc, const transport::mock::Message& message) {
    const auto rts = payload_of<wire::Rts>(message);
    const std::size_t bytes = message.header.words[2];
    const wire::Cts cts{77, bytes, 0, 0};
    network().send_from(proc, wire::answer(wire::Kind::kCts, rts.sender_cookie), &cts, sizeof cts);
    std::vector<unsigned char> data(bytes, 0xee);
    for (std::size_t arrived = 0; arrived < bytes;) {
      const auto piece = expect(proc, wire::Kind::kData);
      if (piece.payload.empty() || piece.header.words[2] + piece.payload.size() > bytes) {
        ADD_FAILURE() << "a piece at " << piece.header.words[2] << " of " << piece.payload.size() << " bytes";
        break;
      }
      EXPECT_EQ(piece.header.words[1], 77U);
      std::memcpy(data.data() + piece.header.words[2], piece.payload.data(), piece.payload.size());
      arrived += piece.payload.size();
    }
    return data;
  }
};

}  // namespace hr::p2p
