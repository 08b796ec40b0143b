// Error codes: the numbers that programs see, and the text of each.
//
// Three kinds of numbers share the int (MPI 5.0 sections 9.4, 9.5):
//   a class of the standard, or one that the program added: below 0x10000
//   a code that the program added: below 0x10000 as well; it belongs to a class
//   an instance: class | slot << 16. The slot names one of the last messages raised in this process, so that
//   MPI_Error_string can name function, argument and value. Slots are reused; the class of an old code stays right.
// Process failures and revocations (MPIX_ERR_PROC_FAILED and the like) have their class as their code, since
// programs compare codes with it; MPI_Error_string describes the last one of the class. Owner: process-wide, for the
// lifetime of the process: programs may add codes before MPI_Init and query them after MPI_Finalize. Threads: library
// lock.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hr::bind {

// Stores the text and returns the instance code. `code`: a class, or a code that the program added, which is returned
// unchanged, as it has its own text.
int make_instance(int code, std::string text);

// True for MPIX_ERR_PROC_FAILED, MPIX_ERR_PROC_FAILED_PENDING and MPIX_ERR_REVOKED themselves.
[[nodiscard]] bool is_failure(int code) noexcept;
void keep_failure_text(int code, std::string text);

// Returns the class, or -1 if no such code exists.
int class_of(int code);
// Gets the string of a code; false if no such code exists. An added code without a string has an empty one.
bool text_of(int code, std::string* text);
// Returns a name such as "MPI_ERR_RANK"; for an added class, a phrase such as "error class 16384".
std::string class_name(int error_class);
// Returns the class's sentence in api/errors.yaml; empty for added classes.
std::string_view class_sentence(int error_class);

Status add_class(int* error_class);
Status add_code(int error_class, int* code);
Status add_text(int code, std::string_view text);
// Errors: MPI_ERR_ARG if the program has not added it; MPI_ERR_OTHER if it still has codes or a string, or has no
// string to remove.
Status remove_class(int error_class);
Status remove_code(int code);
Status remove_text(int code);
// Returns the value of the attribute MPI_LASTUSEDCODE.
int last_used_code() noexcept;

}  // namespace hr::bind
