/* What files of golden vectors and their judge have in common: the manifest's place and version,
   and the digest that ties it to its file. */
#ifndef PHIBAL_VERIFY_VECTORS_FILE_H
#define PHIBAL_VERIFY_VECTORS_FILE_H

#include "formats/safetensors.h"
#include <phibal/status.h>
#include <stdint.h>

enum { VECTORS_VERSION = 1 };

/* Where the manifest of a file of vectors is: its name with .json for .safetensors or .npz. Null
   when memory is out; the caller frees it. */
char *vectors_manifest_path(const char *path);

/* FNV-1a, 64 bits, of a file's bytes: what ties a manifest to its file. */
phibal_status vectors_digest(const char *path, uint64_t *digest);

/* PREFIX/FOLDER/NAME, or null. */
const safetensors_tensor *vectors_find(const safetensors_file *f, const char *prefix,
                                       const char *folder, const char *name);

#endif
