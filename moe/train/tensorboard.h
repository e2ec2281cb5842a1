/* TensorBoard's event file of a run: the numbers of metrics.jsonl as scalars. Tags are paths of
   keys: train/loss, train/layers/0/maxvio_loads, validation/domains/1/loss; lists of numbers are
   left out.

   A file is records of TFRecord (length, CRC of it, data, CRC of them), each an Event of
   tensorflow/core/util/event.proto. */
#ifndef PHIBAL_MOE_TENSORBOARD_H
#define PHIBAL_MOE_TENSORBOARD_H

#include <jansson.h>
#include <phibal/status.h>
#include <stdio.h>

/* The file's name in a run folder. */
#define TENSORBOARD_FILE "events.out.tfevents.0000000000.phibal"

/* Creates the file anew, with the lines (an array, or null) that metrics.jsonl has already. */
phibal_status tensorboard_create(const char *folder, const json_t *lines, FILE **file);
/* Appends one line of metrics.jsonl, and flushes. */
phibal_status tensorboard_write(FILE *file, const json_t *line);

#endif
