/* Build tool: writes the run files named on the command line into a C file, as strings, so that the
   executable finds its built-in configurations wherever it lies.
   usage: embed OUTPUT.c FILE... */
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
  FILE *to = argc > 2 ? fopen(argv[1], "wb") : NULL;
  if (!to) return 1;
  fputs("#include \"config.h\"\n\nconst builtin_config builtin_configs[] = {\n", to);
  for (int i = 2; i < argc; i++)
    if (embed(to, argv[i])) {
      fprintf(stderr, "embed: cannot read %s\n", argv[i]);
      return 1;
    }
  fprintf(to, "};\nconst size_t builtin_config_count = %d;\n", argc - 2);
  return ferror(to) || fclose(to);
}
