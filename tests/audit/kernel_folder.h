/* A folder of its own to compile kernels in, removed at the end. */
#ifndef KERNEL_FOLDER_H
#define KERNEL_FOLDER_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static char kernel_folder[] = "/tmp/phibal-kernels-XXXXXX";

static void folder_create_own(void) {
  cr_assert(mkdtemp(kernel_folder));
  setenv("TMPDIR", kernel_folder, 1);
}

static void folder_remove_own(void) {
  char command[sizeof kernel_folder + 16];
  snprintf(command, sizeof command, "rm -rf '%s'", kernel_folder);
  cr_expect_eq(system(command), 0);
}

#endif
