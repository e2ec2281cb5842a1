/* UTF-8 text and its division into documents. */
#ifndef PHIBAL_MOE_TEXT_H
#define PHIBAL_MOE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Offset of the first byte that does not belong to a well-formed UTF-8 sequence (RFC 3629: no
   overlong forms, no surrogates, nothing above U+10FFFF; a sequence cut by the end is not
   well-formed, and the offset is where it starts); n if there is none. */
size_t text_utf8_valid(const char *text, size_t n);

/* Length of the first document of text[n], n > 0, when documents have at most `limit` bytes: all of
   it if it fits or if limit <= 0, else up to the last empty line in the second half of what fits,
   else up to the last line end there, else as many whole characters as fit (at least one). */
size_t text_document_length(const char *text, size_t n, int64_t limit);

/* 64-bit hash of text under a seed: the checksum of token_file_internal.h over the words of the
   text, its length and the seed, finished by splitmix64's finaliser. */
uint64_t text_hash(uint64_t seed, const char *text, size_t n);

#endif
