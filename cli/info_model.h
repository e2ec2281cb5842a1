/* `phibal info --model`. */
#ifndef PHIBAL_CLI_INFO_MODEL_H
#define PHIBAL_CLI_INFO_MODEL_H

#include <stdbool.h>

/* Prints what the Hugging Face model of a folder is, and every reason for which phibal refuses it;
   `ignored` as hf_config_read has it. The exit status: 0, 1 if there is a reason, 2 for a folder
   that cannot be read. */
int info_model(const char *folder, const char *ignored, bool json);

#endif
