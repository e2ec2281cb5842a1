/* The pictures of a page as files of their own, for a paper or a text elsewhere. */
#include "formats/file.h"
#include "page.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What a picture inside a page can do without, and paper to stand on. */
static const char begin[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\"";
static const char paper[] = "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";

/* Adds the words of a text to a name, as far as one of `ends`, with a '-' before each. */
static void add_words(char *words, size_t size, const char *text, const char *ends) {
  size_t n = strlen(words);
  bool apart = true;
  for (; *text && !strchr(ends, *text) && n + 2 < size; text++)
    if (isalnum((unsigned char)*text)) {
      if (apart) words[n++] = '-';
      apart = false;
      words[n++] = (char)tolower((unsigned char)*text);
    } else {
      apart = true;
    }
  words[n] = 0;
}

/* FOLDER/01-training-loss.svg: the number, the caption up to its first '.', ':' or ',', and the
   run, which may be null. */
static char *name_of(const char *folder, int number, const char *caption, const char *run) {
  char words[128] = "";
  add_words(words, 64, caption, ".:,<");
  if (run) add_words(words, sizeof words, run, "<");
  return string_format("%s/%02d%s.svg", folder, number, words);
}

static phibal_status save(const char *path, const char *picture, const char *end) {
  const char *inside = memchr(picture, '>', (size_t)(end - picture));
  text_buffer text = {0};
  phibal_status status = text_buffer_string(&text, begin);
  picture += strlen("<svg");
  if (!status) status = text_buffer_append(&text, picture, (size_t)(inside + 1 - picture));
  if (!status) status = text_buffer_string(&text, paper);
  if (!status) status = text_buffer_append(&text, inside + 1, (size_t)(end - inside - 1));
  if (!status) status = file_write(path, text.bytes, text.count);
  text_buffer_free(&text);
  return status;
}

phibal_status page_save_pictures(const char *page, const char *folder) {
  static const char last[] = "</svg>", caption[] = "<figcaption>", dot[] = "</i>";
  int number = 0;
  phibal_status status = folder_create(folder);
  for (const char *at = page; !status && (at = strstr(at, "<figure"));) {
    const char *picture = strstr(at, "<svg"), *end = picture ? strstr(picture, last) : NULL;
    const char *words = end ? strstr(end, caption) : NULL;
    if (!words) break;
    const char *run = strstr(at, dot);
    end += strlen(last);
    char *path = name_of(folder, ++number, words + strlen(caption),
                         run && run < picture ? run + strlen(dot) : NULL);
    status = path ? save(path, picture, end)
                  : phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a picture's name");
    free(path);
    at = end;
  }
  return status;
}
