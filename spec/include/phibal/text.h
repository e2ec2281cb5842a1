/* Text from anywhere as it may be shown: names of files, tensors and plugins obey nobody's terminal. */
#ifndef PHIBAL_TEXT_H
#define PHIBAL_TEXT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Text as it may be shown on a terminal and in one line: control characters (C0, DEL, C1),
   separators of lines and signs that turn the direction of writing become \uXXXX, which is the same
   character in JSON, and bytes that are not UTF-8 become \xNN. At most size - 1 bytes, and a zero.
 */
void phibal_text_show(const char *text, char *shown, size_t size);
/* The same of the first character of text[bytes], bytes > 0, for streams. Returns how many bytes it
   has; 0 where it goes on behind them. */
#define PHIBAL_SHOWN 8
size_t phibal_character_show(const char *text, size_t bytes, char shown[PHIBAL_SHOWN]);

#ifdef __cplusplus
}
#endif

#endif
