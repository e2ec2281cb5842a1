/* Safetensors files, read and written: a 64-bit length, a JSON header of that length, then the
   tensors' data, little-endian, one after the other without gaps. Everything in a file is checked
   before use; files are written with the layout of the format's own library.

   Format: https://github.com/huggingface/safetensors#format */
#ifndef PHIBAL_FORMATS_SAFETENSORS_H
#define PHIBAL_FORMATS_SAFETENSORS_H

#include <phibal/status.h>
#include <stddef.h>
#include <stdint.h>

/* DTYPE(ID, bytes of an element), in the order of the format's library, which lays tensors out from
   the last to the first, so that each is aligned to its element. */
#define SAFETENSORS_DTYPES(DTYPE)                                                                  \
  DTYPE(BOOL, 1)                                                                                   \
  DTYPE(U8, 1)                                                                                     \
  DTYPE(I8, 1)                                                                                     \
  DTYPE(F8_E5M2, 1)                                                                                \
  DTYPE(F8_E4M3, 1)                                                                                \
  DTYPE(I16, 2)                                                                                    \
  DTYPE(U16, 2)                                                                                    \
  DTYPE(F16, 2)                                                                                    \
  DTYPE(BF16, 2)                                                                                   \
  DTYPE(I32, 4)                                                                                    \
  DTYPE(U32, 4)                                                                                    \
  DTYPE(F32, 4)                                                                                    \
  DTYPE(F64, 8)                                                                                    \
  DTYPE(I64, 8)                                                                                    \
  DTYPE(U64, 8)

typedef enum safetensors_dtype {
#define DTYPE(ID, bytes) SAFETENSORS_##ID,
  SAFETENSORS_DTYPES(DTYPE)
#undef DTYPE
      SAFETENSORS_DTYPE_COUNT
} safetensors_dtype;

enum { SAFETENSORS_MAX_DIMENSIONS = 8, SAFETENSORS_MAX_HEADER = 100000000 };

typedef struct safetensors_tensor {
  const char *name;
  safetensors_dtype dtype;
  int32_t dimensions; /* 0 for a scalar */
  int64_t shape[SAFETENSORS_MAX_DIMENSIONS];
  const void *data; /* row-major; aligned to its element; not null after reading */
  int64_t elements; /* the product of the shape; the writer finds it by itself, */
  int64_t bytes;    /* and this too */
} safetensors_tensor;

typedef struct safetensors_entry {
  const char *key, *value;
} safetensors_entry;

/* An open file. All zeros is a closed one. It owns everything it returns. */
typedef struct safetensors_file {
  int64_t count;
  safetensors_tensor *tensors; /* [count], by the bytes of their names */
  int64_t metadata_count;
  safetensors_entry *metadata; /* [metadata_count], by the bytes of their keys */
  char *name;                  /* for messages */
  void *header;                /* private */
  void *mapping;               /* private */
  size_t mapping_bytes;        /* private */
  void *copy;                  /* private */
} safetensors_file;

/* "F32"; null for an invalid dtype. */
const char *safetensors_dtype_name(safetensors_dtype dtype);
int64_t safetensors_dtype_bytes(safetensors_dtype dtype);

/* Maps a file. PHIBAL_ERROR_IO (missing, unreadable), PHIBAL_ERROR_FORMAT (any violation of the
   format: the message names the file, the tensor, and the violation), PHIBAL_ERROR_UNSUPPORTED (a
   dtype or a number of dimensions beyond those above). On failure *file is all zeros. Data that a
   header of odd length leaves unaligned are copied to memory. A BOOL may be any byte. */
phibal_status safetensors_open(const char *path, safetensors_file *file);
/* The same from bytes[n], which must outlive *file; `name` stands for the path in messages. */
phibal_status safetensors_view(const void *bytes, size_t n, const char *name,
                               safetensors_file *file);
/* Accepts a closed file. */
void safetensors_close(safetensors_file *file);

/* The tensor of that name; null if there is none. */
const safetensors_tensor *safetensors_find(const safetensors_file *file, const char *name);
/* The value of a metadata key; null if there is none. */
const char *safetensors_metadata(const safetensors_file *file, const char *key);
/* The tensor of that name, which must have this dtype and shape; -1 in `shape` allows any extent.
   Otherwise PHIBAL_ERROR_FORMAT says what the file has and what is expected, and *tensor is null.
 */
phibal_status safetensors_get(const safetensors_file *file, const char *name,
                              safetensors_dtype dtype, int32_t dimensions, const int64_t *shape,
                              const safetensors_tensor **tensor);

/* The first element that is NaN or infinite; -1 for none, and for integers. */
int64_t safetensors_nonfinite(const safetensors_tensor *tensor);
/* PHIBAL_ERROR_NONFINITE says which it is; `file` stands before it. */
phibal_status safetensors_check_finite(const char *file, const safetensors_tensor *tensor);

/* Writes tensors[count] and metadata[metadata_count], in any order, atomically. The bytes do not
   depend on the order given. Data are streamed, not gathered in memory. PHIBAL_ERROR_ARGUMENT names
   a tensor that a reader would reject (a duplicate name, not UTF-8, or "__metadata__"; a negative
   extent; null data). */
phibal_status safetensors_write(const char *path, const safetensors_tensor *tensors, int64_t count,
                                const safetensors_entry *metadata, int64_t metadata_count);

/* Supplies the data of tensors that are not in memory: SAFETENSORS_BLOCK bytes, fewer at the end,
   from byte `at` on. The tensors are read in the order of the file: wide elements first, then by
   the bytes of the names; each from its beginning. */
enum { SAFETENSORS_BLOCK = 4 << 20 };
typedef struct safetensors_source {
  void *context;
  phibal_status (*read)(void *context, const safetensors_tensor *tensor, int64_t at, int64_t bytes,
                        void *to);
} safetensors_source;

/* The same, with null data read from `source`. Its failure is the writer's. */
phibal_status safetensors_write_from(const char *path, const safetensors_tensor *tensors,
                                     int64_t count, const safetensors_entry *metadata,
                                     int64_t metadata_count, const safetensors_source *source);

#endif
