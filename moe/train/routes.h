/* Files of routes: which experts the tokens of a run's steps were sent to, recorded by one run and
   trained on by another. Layout, little-endian:

     header    64 bytes: "phibal routes\n", two zero bytes; int32: version 1, E, k, layers with
               experts, S, sequences of a step; int64: the steps before the first one here; zeros;
               the last 4 bytes are the CRC-32 of the 60 before
     sequence  for each step, for each place in the global batch: CRC-32 of its tokens (int32 [S],
               -1 padding); CRC-32 of what follows; uint16 [layers][S][k], the experts in the order
               of their slots, 65535 for padding

   A sequence's place is all that says where it lies, so that neither micro-batches nor ranks
   matter. Whole steps count: what a killed process has left behind them is cut off when the run
   goes on. */
#ifndef PHIBAL_MOE_ROUTES_H
#define PHIBAL_MOE_ROUTES_H

#include "moe/config/config.h"

typedef struct routes_shape {
  int32_t experts, active, layers, sequence, sequences;
} routes_shape;

/* All zeros is a closed one. */
typedef struct routes_file {
  const char *path; /* of the caller */
  int descriptor;
  bool open;
  routes_shape shape;
  int64_t before, steps; /* steps before its first one; and of its own, as it was opened */
  unsigned char *record; /* one sequence's */
} routes_file;

/* Of a configuration; of no layers where nothing is routed. */
routes_shape routes_shape_of(const run_config *config);
/* Experts of a sequence, [layers][S][k]. */
int64_t routes_of_sequence(const routes_shape *shape);
/* Bytes of a sequence's record. */
size_t routes_record_bytes(const routes_shape *shape);
/* Makes the record of a sequence from its tokens [S] and experts. */
void routes_record(const routes_shape *shape, const int32_t *tokens, const uint16_t *experts,
                   unsigned char *record);

/* For steps first + 1 .. last (as run_totals counts them). PHIBAL_ERROR_IO; PHIBAL_ERROR_FORMAT:
   not such a file, or one that was cut; PHIBAL_ERROR_ARGUMENT: of another model or batch, or
   without these steps. */
phibal_status routes_open(const char *path, const routes_shape *shape, int64_t first, int64_t last,
                          routes_file *file);
/* The experts of a sequence. PHIBAL_ERROR_ARGUMENT where it has been recorded with other tokens,
   PHIBAL_ERROR_FORMAT where it is corrupt. */
phibal_status routes_read(const routes_file *file, int64_t step, int32_t place,
                          const int32_t *tokens, uint16_t *experts);

/* Whether a new file may be written there: not over one that is there, unless `overwrite`, and
   never over `source`, which is read (or null). */
phibal_status routes_may_create(const char *path, bool overwrite, const routes_file *source);
/* A new file, whose first step comes after so many. */
phibal_status routes_create(const char *path, const routes_shape *shape, int64_t before,
                            routes_file *file);
/* Goes on in a file after `step`: later steps are cut off. PHIBAL_ERROR_ARGUMENT where it lacks an
   earlier one. */
phibal_status routes_continue(const char *path, const routes_shape *shape, int64_t step,
                              routes_file *file);
phibal_status routes_write(const routes_file *file, int64_t step, int32_t place,
                           const unsigned char *record);
/* To the disk. */
phibal_status routes_sync(const routes_file *file);
void routes_close(routes_file *file);

#endif
