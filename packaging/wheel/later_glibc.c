// Symbols that the compiler's static libstdc++ or mpiexec needs, but that exist only in glibc versions later than the
// wheel's. They are hidden: each library and program in the wheel has its own, and the system's are unaffected.
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#pragma GCC visibility push(hidden)

// Since 2.32. False is always correct: reference counts are then updated with atomic instructions.
char __libc_single_threaded = 0;

// Since 2.36, for std::random_device.
uint32_t arc4random(void);
uint32_t arc4random(void) {
  uint32_t value;
  if (getentropy(&value, sizeof value) != 0) abort();
  return value;
}

// Since 2.32. For each signal with a description, strsignal() returns the same text.
const char* sigdescr_np(int number);
const char* sigdescr_np(int number) { return number > 0 && number < SIGRTMIN ? strsignal(number) : NULL; }

#pragma GCC visibility pop
