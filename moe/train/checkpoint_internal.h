/* Shared by the writer and the reader of checkpoints. */
#ifndef PHIBAL_MOE_CHECKPOINT_INTERNAL_H
#define PHIBAL_MOE_CHECKPOINT_INTERNAL_H

#include "checkpoint.h"

#define CHECKPOINT_VERSION 1
#define CHECKPOINT_MANIFEST "checkpoint.json"
#define CHECKPOINT_KEY_DATA "data.train.checksum"
#define CHECKPOINT_DATA "data" /* in checkpoint.json */
#define CHECKPOINT_KEY_KERNEL "potential.kernel_hash"

enum { CHECKPOINT_CLOCKS = 11, CHECKPOINT_HASH = 17 };
enum { CHECKPOINT_FILE_PATH_MAX = CHECKPOINT_PATH_MAX + 32 };

/* The files with checksums. */
enum { CHECKPOINT_CONFIG, CHECKPOINT_MODEL, CHECKPOINT_TRAINING, CHECKPOINT_FILES };
extern const char *const checkpoint_files[CHECKPOINT_FILES];

/* A tensor of a checkpoint and where in memory it belongs. The same list is written and read, so
   that nothing is saved that is not restored. */
typedef struct checkpoint_place {
  char name[96];
  safetensors_dtype dtype;
  int32_t dimensions;
  int64_t shape[3];           /* of the whole tensor, wherever its elements are */
  void *data;                 /* what of it this rank has: all, or as sharding.h says */
  const model_tensor *tensor; /* null: not divided */
  bool moments;
} checkpoint_place;

/* Numbers beside the tensors. */
typedef struct checkpoint_numbers {
  int64_t step, sequences;
  double loss, beta1_power, beta2_power;
} checkpoint_numbers;

/* The list of each file, to be freed; null when out of memory. */
checkpoint_place *checkpoint_model_places(const run_config *config, model *m, bool divided,
                                          int64_t *count);
checkpoint_place *checkpoint_training_places(const checkpoint_state *state,
                                             checkpoint_numbers *numbers, int64_t *count);

/* The clocks of a run, in the order of checkpoint.json. */
void checkpoint_clocks(run_totals *totals, double *clock[CHECKPOINT_CLOCKS]);

/* Sixteen hexadecimal digits. */
void checkpoint_hash(uint64_t value, char text[CHECKPOINT_HASH]);

/* Steps of the checkpoints of a run, newest first, to be freed; none if there is no such folder. */
phibal_status checkpoint_list(const char *run, int64_t **steps, size_t *count);
/* The folder of one, and a file in it. */
void checkpoint_path(const char *run, int64_t step, char path[CHECKPOINT_PATH_MAX]);
void checkpoint_file_path(const char *folder, const char *name,
                          char path[CHECKPOINT_FILE_PATH_MAX]);

#endif
