/* NumPy's .npz, read and written: a zip archive with an array, NAME.npy, for each tensor. Members
   are stored or deflated. Everything in an archive is checked before use.

   Formats: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html,
   https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT */
#ifndef PHIBAL_FORMATS_NPZ_H
#define PHIBAL_FORMATS_NPZ_H

#include "safetensors.h"
#include <stdbool.h>

/* Whether the bytes begin like such an archive. */
bool npz_recognised(const void *bytes, size_t n);
/* As safetensors_view, with all data in memory of the file's own. Arrays in Fortran's order come
   out row-major. PHIBAL_ERROR_FORMAT, or PHIBAL_ERROR_UNSUPPORTED (a dtype, big-endian numbers, a
   compression, encryption), each with the member's name. */
phibal_status npz_view(const void *bytes, size_t n, const char *name, safetensors_file *file);
/* As safetensors_write; the members are stored, not compressed. PHIBAL_ERROR_UNSUPPORTED names the
   tensor with a dtype that NumPy does not have, or says that it is too much for a plain zip (4 GiB,
   65535 members). */
phibal_status npz_write(const char *path, const safetensors_tensor *tensors, int64_t count);

/* Either format: detected by the first bytes when reading, by the suffix .npz when writing. */
phibal_status tensors_open(const char *path, safetensors_file *file);
phibal_status tensors_write(const char *path, const safetensors_tensor *tensors, int64_t count);

#endif
