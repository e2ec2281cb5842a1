/* Shared by the reader and the writer. */
#ifndef PHIBAL_FORMATS_SAFETENSORS_INTERNAL_H
#define PHIBAL_FORMATS_SAFETENSORS_INTERNAL_H

#include "safetensors.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data go to files as they are in memory");

#define SAFETENSORS_METADATA "__metadata__"

/* A name, truncated to leave room for the error in a message, without control characters: messages
   are one line. */
typedef struct safetensors_shown {
  char text[101];
} safetensors_shown;

safetensors_shown safetensors_show(const char *name);

/* Sets elements and bytes from dtype and shape; the extent that is negative or with which they
   overflow 63 bits, or -1 if there is none. */
int32_t safetensors_measure(safetensors_tensor *tensor);

/* For qsort and bsearch: by the bytes of the name. */
int safetensors_compare_names(const void *a, const void *b);
int safetensors_compare_keys(const void *a, const void *b);

#endif
