/* A fuzz target: one function that takes any bytes. It links with libFuzzer (clang, coverage) or
   with driver.c (any compiler, a fixed sequence of mutations), sanitizers on in both. */
#ifndef PHIBAL_FUZZ_TARGET_H
#define PHIBAL_FUZZ_TARGET_H

#include "formats/file.h"
#include <phibal/status.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns 0; anything that is wrong ends the process. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold whatever the input is. */
#define FUZZ_REQUIRE(condition, ...)                                                               \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: does not hold: %s: ", __FILE__, __LINE__, #condition);               \
      fprintf(stderr, __VA_ARGS__);                                                                \
      fputc('\n', stderr);                                                                         \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

/* A message is one line, and not cut in the middle of nothing. */
#define FUZZ_REQUIRE_MESSAGE()                                                                     \
  FUZZ_REQUIRE(*phibal_status_message() && !strchr(phibal_status_message(), '\n'), "message '%s'", \
               phibal_status_message())

/* A copy with a zero at the end, in memory of exactly that size; to be freed. */
static inline char *fuzz_text(const uint8_t *data, size_t size) {
  char *text = malloc(size + 1);
  FUZZ_REQUIRE(text, "out of memory");
  if (size) memcpy(text, data, size);
  text[size] = 0;
  return text;
}

/* The same without the zero; never null. */
static inline void *fuzz_bytes(const uint8_t *data, size_t size) {
  void *bytes = malloc(size ? size : 1);
  FUZZ_REQUIRE(bytes, "out of memory");
  if (size) memcpy(bytes, data, size);
  return bytes;
}

static char fuzz_folder_path[] = "/tmp/phibal-fuzz-XXXXXX";

static inline void fuzz_folder_remove(void) {
  folder_remove(fuzz_folder_path);
}

/* Writes a file for those that read from a path, in a folder that goes when the process ends; the
   file's path, until the next call. */
static inline const char *fuzz_file(const char *name, const void *bytes, size_t size) {
  static char path[sizeof fuzz_folder_path + 64];
  if (strchr(fuzz_folder_path, 'X') && !strcmp(strchr(fuzz_folder_path, 'X'), "XXXXXX")) {
    FUZZ_REQUIRE(mkdtemp(fuzz_folder_path), "no folder");
    atexit(fuzz_folder_remove);
  }
  snprintf(path, sizeof path, "%s/%s", fuzz_folder_path, name);
  FILE *to = fopen(path, "wb");
  FUZZ_REQUIRE(to && fwrite(bytes, 1, size, to) == size && !fclose(to), "%s", path);
  return path;
}

/* Removes what fuzz_file wrote under that name, if it did. */
static inline void fuzz_file_remove(const char *name) {
  char path[sizeof fuzz_folder_path + 64];
  snprintf(path, sizeof path, "%s/%s", fuzz_folder_path, name);
  unlink(path);
}

#endif
