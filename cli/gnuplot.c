#include "gnuplot.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Everything a command prints; malloc'ed, null on failure. */
static char *output_of(const char *command) {
  FILE *pipe = popen(command, "r");
  if (!pipe) return NULL;
  char *text = NULL;
  size_t length = 0, size = 0;
  for (;;) {
    if (length + 1 >= size) {
      char *grown = realloc(text, size = size ? 2 * size : 1 << 14);
      if (!grown) break;
      text = grown;
    }
    size_t n = fread(text + length, 1, size - length - 1, pipe);
    if (n == 0) break;
    length += n;
  }
  if (text) text[length] = 0;
  if (pclose(pipe) != 0) {
    free(text);
    return NULL;
  }
  return text;
}

bool gnuplot_exists(void) {
  char *version = output_of("gnuplot --version 2>/dev/null");
  bool can = version && strncmp(version, "gnuplot", 7) == 0;
  free(version);
  return can;
}

/* What is inside a page needs no XML declaration, no namespaces, and no title, which browsers show
   over the whole picture. */
static char *trim_svg(char *text) {
  char *start = text ? strstr(text, "<svg") : NULL;
  if (!start) {
    free(text);
    return NULL;
  }
  static const char *const noise[][2] = {{" xmlns=\"", "http://www.w3.org/2000/svg\""},
                                         {" xmlns:xlink=\"", "http://www.w3.org/1999/xlink\""},
                                         {"<title>", "</title>"},
                                         {"<desc>", "</desc>"}};
  for (size_t i = 0; i < sizeof noise / sizeof *noise; i++) {
    char *found = strstr(start, noise[i][0]), *end = found ? strstr(found, noise[i][1]) : NULL;
    if (!end) continue;
    end += strlen(noise[i][1]);
    memmove(found, end, strlen(end) + 1);
  }
  memmove(text, start, strlen(start) + 1);
  return text;
}

char *gnuplot_draw(const char *script) {
  char name[] = "/tmp/phibal-gnuplot-XXXXXX", command[64];
  int file = mkstemp(name);
  if (file < 0) return NULL;
  FILE *f = fdopen(file, "w");
  char *svg = NULL;
  if (f) {
    bool written = fputs(script, f) >= 0;
    written = fclose(f) == 0 && written;
    snprintf(command, sizeof command, "gnuplot %s 2>/dev/null", name);
    if (written) svg = trim_svg(output_of(command));
  } else {
    close(file);
  }
  unlink(name);
  return svg;
}
