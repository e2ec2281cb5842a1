/* Other programs' token files (token_file.h says which). */
#ifndef PHIBAL_MOE_FOREIGN_FILE_H
#define PHIBAL_MOE_FOREIGN_FILE_H

#include "token_file.h"

/* `file` has the mapping of NAME.bin and nothing else yet. PHIBAL_ERROR_FORMAT, _UNSUPPORTED
   (another type of token); the caller closes it then. */
phibal_status foreign_file_read(const char *path, int32_t end_of_document, token_file *file);

#endif
