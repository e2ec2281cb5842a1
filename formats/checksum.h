/* CRC-32 (that of zlib, PNG and gzip) of whole files. It finds every change of up to 32 bits in a
   row, and others with probability 1 - 2^-32; it is no defence against forgery. */
#ifndef PHIBAL_FORMATS_CHECKSUM_H
#define PHIBAL_FORMATS_CHECKSUM_H

#include <phibal/status.h>
#include <stdint.h>

/* Reads the whole file. PHIBAL_ERROR_IO, PHIBAL_ERROR_FORMAT as file_map. */
phibal_status file_checksum(const char *path, int64_t *bytes, uint32_t *crc32);

#endif
