/* The pictures of a page as files of their own, for a paper or a text elsewhere. */
#include "file.h"
#include "page.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* What a picture inside a page can do without, and paper to stand on. */
static const char begin[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\"";
static const char paper[] = "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";

/* FOLDER/01-training-loss.svg: the number and the caption up to its first '.', ':' or ','. */
static char *name_of(const char *folder, int number, const char *caption) {
  char words[64];
  size_t n = 0;
  for (; *caption && !strchr(".:,<", *caption) && n + 1 < sizeof words; caption++)
    if (isalnum((unsigned char)*caption))
      words[n++] = (char)tolower((unsigned char)*caption);
    else if (n && words[n - 1] != '-')
      words[n++] = '-';
  while (n && words[n - 1] == '-') n--;
  words[n] = 0;
  return string_format("%s/%02d%s%s.svg", folder, number, n ? "-" : "", words);
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
  static const char last[] = "</svg>", caption[] = "<figcaption>";
  int number = 0;
  phibal_status status = folder_create(folder);
  for (const char *at = page; !status && (at = strstr(at, "<figure><svg"));) {
    const char *picture = at + strlen("<figure>"), *end = strstr(picture, last);
    const char *words = end ? strstr(end, caption) : NULL;
    if (!words) break;
    end += strlen(last);
    char *path = name_of(folder, ++number, words + strlen(caption));
    status = path ? save(path, picture, end)
                  : phibal_status_set(PHIBAL_ERROR_MEMORY, "no memory for a picture's name");
    free(path);
    at = end;
  }
  return status;
}
