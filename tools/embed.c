/* Build tool: writes the files named on the command line into a C file, as strings, so that the
   executable finds its built-in configurations, and what it generates kernels from, wherever it lies.
   HEADER declares ARRAY, of TYPE {name, text}, and ARRAY_count.
   usage: embed OUTPUT.c HEADER TYPE ARRAY FILE... */
#include <stdio.h>
#include <string.h>

static int embed(FILE *to, const char *path) {
  FILE *from = fopen(path, "rb");
  if (!from) return 1;
  const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
  fprintf(to, "    {\"%.*s\",\n     \"", (int)strcspn(name, "."), name);
  for (int c; (c = getc(from)) != EOF;)
    if (c == '\n')
      fputs("\\n\"\n     \"", to);
    else if (c == '"' || c == '\\')
      fprintf(to, "\\%c", c);
    else if (c >= ' ' && c < 127)
      putc(c, to);
    else
      fprintf(to, "\\%03o", (unsigned)c);
  fputs("\"},\n", to);
  int failed = ferror(from);
  fclose(from);
  return failed;
}

int main(int argc, char **argv) {
  FILE *to = argc > 5 ? fopen(argv[1], "wb") : NULL;
  if (!to) return 1;
  fprintf(to, "#include \"%s\"\n\nconst %s %s[] = {\n", argv[2], argv[3], argv[4]);
  for (int i = 5; i < argc; i++)
    if (embed(to, argv[i])) {
      fprintf(stderr, "embed: cannot read %s\n", argv[i]);
      return 1;
    }
  fprintf(to, "};\nconst size_t %s_count = %d;\n", argv[4], argc - 5);
  return ferror(to) || fclose(to);
}
