/* A run's token files, checked against its model. */
#ifndef PHIBAL_MOE_RUN_DATA_H
#define PHIBAL_MOE_RUN_DATA_H

#include "moe/config/config.h"
#include "moe/data/corpus.h"

/* Whether a vocabulary of the data fits the model's: the model may have up to 127 more, as padding,
   and any number more than the largest token of data that do not say (`open`), and where it comes
   from a Hugging Face folder, as published models have thousands of rows that no token uses. `what`
   begins the message. */
phibal_status run_data_vocabulary(const char *what, int32_t data, bool open,
                                  const run_config *config);

/* Opens a token file. `key` is what named it ("data.train", "--data"). */
phibal_status run_data_open(const char *path, const char *key, const run_config *config,
                            token_file *file);
/* Opens data.train, of one or many files. */
phibal_status run_data_open_training(const run_config *config, corpus *c);

#endif
