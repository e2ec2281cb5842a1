#include "text.h"
#include "token_file_internal.h"
#include <string.h>

/* Length of the sequence that starts at s (Unicode 15, table 3-7), 0 if it is not well-formed. */
static size_t sequence_length(const unsigned char *s, size_t n) {
  unsigned char first = s[0], low = 0x80, high = 0xbf;
  size_t length;
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) {
    length = 2;
  } else if (first < 0xf0) {
    length = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first < 0xf5) {
    length = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  } else {
    return 0;
  }
  if (n < length || s[1] < low || s[1] > high) return 0;
  for (size_t i = 2; i < length; i++)
    if (s[i] < 0x80 || s[i] > 0xbf) return 0;
  return length;
}

size_t text_utf8_valid(const char *text, size_t n) {
  const unsigned char *s = (const unsigned char *)text;
  size_t i = 0;
  while (i < n) {
    size_t length = sequence_length(s + i, n - i);
    if (!length) return i;
    i += length;
  }
  return n;
}

size_t text_document_length(const char *text, size_t n, int64_t limit) {
  if (limit <= 0 || n <= (size_t)limit) return n;
  size_t most = (size_t)limit, least = most / 2;
  for (size_t end = most; end > least && end >= 2; end--)
    if (text[end - 1] == '\n' && text[end - 2] == '\n') return end;
  for (size_t end = most; end > least; end--)
    if (text[end - 1] == '\n') return end;
  /* A continuation byte never starts a document; a character longer than the limit stays whole. */
  size_t end = most;
  while (end > 0 && (text[end] & 0xc0) == 0x80) end--;
  if (end > 0) return end;
  end = most;
  while (end < n && (text[end] & 0xc0) == 0x80) end++;
  return end;
}

uint64_t text_hash(uint64_t seed, const char *text, size_t n) {
  uint64_t sum = token_checksum(0, (const uint64_t[]){seed, n}, 2);
  for (size_t i = 0; i < n; i += 8) {
    uint64_t word = 0;
    memcpy(&word, text + i, n - i < 8 ? n - i : 8);
    sum = token_checksum(sum, &word, 1);
  }
  sum = (sum ^ (sum >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  sum = (sum ^ (sum >> 27)) * UINT64_C(0x94d049bb133111eb);
  return sum ^ (sum >> 31);
}
