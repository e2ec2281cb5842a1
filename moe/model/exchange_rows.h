/* Arrays for the rows received by this rank's experts, on the host (model_exchange.c) or a device
   (device_exchange.c). Their number is known only on arrival: the arrays grow. */
#ifndef PHIBAL_MOE_EXCHANGE_ROWS_H
#define PHIBAL_MOE_EXCHANGE_ROWS_H

#include <phibal/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a layer keeps for the backward pass: one block, from x on. As the rows of
   model_internal.h, these hold what the products multiply, whatever their pointers say. */
typedef struct exchange_rows {
  int64_t capacity;
  float *x, *a, *b, *h; /* [rows][d], [rows][f]; h null on a device */
} exchange_rows;

/* What all layers use in turn: one block, from wire on. */
typedef struct exchange_space {
  int64_t capacity;
  float *wire, *rows;           /* [rows][d] in the order of the ranks, and of the experts */
  float *h_gradient;            /* [rows][f] */
  float *gates, *gate_gradient; /* [rows] in binary32, on a device alone */
} exchange_space;

/* Where the arrays lie. */
typedef struct exchange_memory {
  const char *name; /* for messages */
  size_t number;    /* bytes of one */
  bool on_device;
  void *(*allocate)(size_t bytes);
  void (*release)(void *block); /* null: nothing */
} exchange_memory;

/* Room for so many rows of both, and for an eighth more, so that it seldom has to grow again; where
   it does the contents are lost. */
phibal_status exchange_reserve(const exchange_memory *in, int64_t rows, int64_t width,
                               int64_t hidden, exchange_rows *layer, exchange_space *space);
phibal_status exchange_no_memory(const char *name, int64_t rows);

#endif
