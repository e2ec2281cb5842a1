/* Temporary folders and files for the tests of moe/data. */
#ifndef PHIBAL_TESTS_DATA_FILES_H
#define PHIBAL_TESTS_DATA_FILES_H

#include "formats/file.h"
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define must(call) cr_assert_eq((call), PHIBAL_OK, "%s: %s", #call, phibal_status_message())

/* A fresh folder; remove it with folder_remove and free it. */
static inline char *scratch_folder(void) {
  const char *base = getenv("TMPDIR");
  char *path = string_format("%s/phibal-test.XXXXXX", base && *base ? base : "/tmp");
  cr_assert(path && mkdtemp(path));
  return path;
}

/* Writes `bytes` of `data` to folder/name, making the folders between. */
static inline void put_file(const char *folder, const char *name, const void *data, size_t bytes) {
  char *path = string_format("%s/%s", folder, name);
  char *slash = strrchr(path, '/');
  *slash = 0;
  must(folder_create(path));
  *slash = '/';
  must(file_write_scratch(path, data, bytes));
  free(path);
}

static inline void put_text(const char *folder, const char *name, const char *text) {
  put_file(folder, name, text, strlen(text));
}

/* How many names a folder holds, hidden ones too; -1 if there is no such folder. */
static inline int count_names(const char *folder) {
  DIR *d = opendir(folder);
  int n = 0;
  if (!d) return -1;
  for (struct dirent *entry; (entry = readdir(d));)
    n += strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
  closedir(d);
  return n;
}

static inline int message_has(const char *part) {
  return strstr(phibal_status_message(), part) != NULL;
}

#endif
