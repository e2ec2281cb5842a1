/* A folder of its own for compiled kernels, removed at the end. */
#ifndef KERNEL_CACHE_H
#define KERNEL_CACHE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static char cache_folder[] = "/tmp/phibal-kernels-XXXXXX";

static void cache_create(void) {
  cr_assert(mkdtemp(cache_folder));
  setenv("XDG_CACHE_HOME", cache_folder, 1);
}

static void cache_remove(void) {
  char command[sizeof cache_folder + 16];
  snprintf(command, sizeof command, "rm -rf '%s'", cache_folder);
  cr_expect_eq(system(command), 0);
}

#endif
