/* Common parts of the wrong programs. A comment "HERE word" marks a line that a diagnostic must name (run.py). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void show_error(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "error: %s\n", text);
}

static inline int class_of(int code) {
  int class;
  MPI_Error_class(code, &class);
  return class;
}
