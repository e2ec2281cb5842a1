/* A run's token files, checked against its model. */
#ifndef PHIBAL_MOE_RUN_DATA_H
#define PHIBAL_MOE_RUN_DATA_H

#include "config.h"
#include "data/token_file.h"

/* Whether a vocabulary of the data fits the model's: the model may have up to 127 more, as padding.
   `what` begins the message. */
phibal_status run_data_vocabulary(const char *what, int32_t data, const model_config *config);

/* Opens a token file. `key` is what named it ("data.train", "--data"). */
phibal_status run_data_open(const char *path, const char *key, const model_config *config,
                            token_file *file);

#endif
