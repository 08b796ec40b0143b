// Secrets: removal from strings, and conversion to digits and back. The hash is tested with mpiexec's greeting.
#include "base/secret.hpp"

#include <gtest/gtest.h>

namespace hr {
namespace {

TEST(Secret, AreNotShown) {
  const std::string secret = digits_of(make_nonce());
  EXPECT_EQ(without_secrets("headrace_127.0.0.1_40123_" + secret + "_" + secret), "headrace_127.0.0.1_40123_..._...");
  EXPECT_EQ(without_secrets(secret.substr(0, 9) + " cut"), "... cut");
  EXPECT_EQ(without_secrets("a deed of 1234567 and xyz"), "a deed of 1234567 and xyz");
  EXPECT_EQ(without_secrets(""), "");
  EXPECT_EQ(without_secrets("0x00007f0012345678 " + secret, 20), "0x00007f0012345678 ...");
}

TEST(Secret, DigitsComeBack) {
  const Nonce nonce = make_nonce();
  EXPECT_NE(nonce, make_nonce());
  Nonce read{};
  EXPECT_TRUE(read_digits(digits_of(nonce), &read));
  EXPECT_EQ(read, nonce);
  for (const std::string& wrong :
       {digits_of(nonce) + "0", digits_of(nonce).substr(1), std::string(32, 'g'), std::string()}) {
    EXPECT_FALSE(read_digits(wrong, &read)) << wrong;
    EXPECT_EQ(read, nonce);
  }
}

}  // namespace
}  // namespace hr
