/* Golden vectors: cases of the catalogue as files. `cases.safetensors` holds for each case the
   inputs, the expected outputs and a bound for each of their elements; `cases.json` beside it says
   what they are. spec/VECTORS.md is the description for those who read them. */
#ifndef PHIBAL_VERIFY_VECTORS_H
#define PHIBAL_VERIFY_VECTORS_H

#include "operation.h"
#include "vectors_file.h"

/* Case i of a file is case VECTORS_FIRST + i of the generator: past the cases that are large on
   purpose, and a multiple of every period of the kinds. */
enum { VECTORS_FIRST = 1080 };

typedef struct vectors_request {
  const operation *const *operations;
  int count;
  uint64_t seed;
  int64_t cases; /* of each operation */
  bool paired;   /* and its paired cases (paired.h) */
} vectors_request;

/* Writes the file, safetensors or by its name NumPy's .npz, and its manifest. The same request
   gives the same bytes on every machine. */
phibal_status vectors_write(const vectors_request *request, const char *path);

/* Writes what a backend makes of the same cases, as a file of results; operations that it does not
   offer are left out. */
phibal_status vectors_answer(const vectors_request *request, const backend *b, const char *path);

#endif
