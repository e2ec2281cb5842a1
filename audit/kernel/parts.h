/* The texts of the headers that a generated kernel is made of; kernel/meson.build embeds them. */
#ifndef PHIBAL_AUDIT_KERNEL_PARTS_H
#define PHIBAL_AUDIT_KERNEL_PARTS_H

#include <stddef.h>

typedef struct kernel_part {
  const char *name; /* without ".h" */
  const char *text;
} kernel_part;

extern const kernel_part kernel_parts[];
extern const size_t kernel_parts_count;

#endif
