/* SHA-256 (FIPS 180-4) of bytes that come piece by piece. */
#ifndef PHIBAL_FORMATS_SHA256_H
#define PHIBAL_FORMATS_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_TEXT = 65 };

typedef struct sha256 {
  uint32_t state[8];
  uint64_t bytes; /* so far */
  uint8_t block[64];
} sha256;

void sha256_begin(sha256 *h);
void sha256_add(sha256 *h, const void *data, size_t bytes);
/* 64 hexadecimal digits and a zero; *h has no meaning afterwards. */
void sha256_end(sha256 *h, char text[SHA256_TEXT]);

#endif
