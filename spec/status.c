/* One message per thread; the only state that the library keeps outside its arguments. */
#include <phibal/status.h>
#include <phibal/text.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[2048];

const char *phibal_status_message(void) {
  return message;
}

size_t phibal_character_show(const char *text, size_t bytes, char shown[PHIBAL_SHOWN]) {
  const unsigned char *s = (const unsigned char *)text;
  const size_t length = s[0] < 0x80   ? 1
                        : s[0] < 0xc2 ? 0
                        : s[0] < 0xe0 ? 2
                        : s[0] < 0xf0 ? 3
                        : s[0] < 0xf5 ? 4
                                      : 0;
  unsigned long code = length > 1 ? s[0] & (0x7fu >> length) : s[0];
  size_t good = length > 0;
  while (good && good < length && good < bytes && (s[good] & 0xc0) == 0x80)
    code = code << 6 | (s[good++] & 0x3f);
  if (good && good < length && good == bytes) return 0;
  /* Too long for its character, half of a pair of UTF-16, or beyond Unicode. */
  const bool whole = good == length && length && !(length == 3 && code < 0x800) &&
                     !(length == 4 && (code < 0x10000 || code > 0x10ffff)) &&
                     !(code >= 0xd800 && code < 0xe000);
  if (!whole) {
    snprintf(shown, PHIBAL_SHOWN, "\\x%02x", s[0]);
    return 1;
  }
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool turns = code == 0x61c || code == 0x200e || code == 0x200f ||
                     (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) ||
                     code == 0xfeff;
  if (control || turns) {
    snprintf(shown, PHIBAL_SHOWN, "\\u%04lx", code);
  } else {
    memcpy(shown, s, length);
    shown[length] = 0;
  }
  return length;
}

void phibal_text_show(const char *text, char *shown, size_t size) {
  size_t used = 0;
  for (size_t left = strlen(text); left;) {
    char one[PHIBAL_SHOWN];
    size_t n = phibal_character_show(text, left, one);
    /* Cut in the middle of a character. */
    if (!n) break;
    if (used + strlen(one) >= size) break;
    used += (size_t)sprintf(shown + used, "%s", one);
    text += n, left -= n;
  }
  shown[used] = 0;
}

phibal_status phibal_status_set(phibal_status status, const char *format, ...) {
  char made[sizeof message]; /* an argument may be the message that is there */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(made, sizeof made, format, arguments);
  va_end(arguments);
  phibal_text_show(made, message, sizeof message);
  return status;
}
