/* Heat maps. They are drawn here, not by gnuplot: a page needs none for them, each cell says what
   it holds, and the colours follow the page's light or dark. Every map of loads of a page has the
   same colour for the same load. */
#include "page.h"
#include "report_internal.h"
#include <math.h>
#include <string.h>

enum { STEPS = 12, LEVELS = 3 * STEPS + 1, WIDTH = 480, TITLES = 4096 };

/* Colours at the ends and between; [dark]. Of loads: idle, even, a part of the way, the most. */
typedef struct rgb {
  int r, g, b;
} rgb;
static const rgb of_loads[2][4] = {{{201, 70, 8}, {243, 244, 248}, {116, 160, 240}, {18, 48, 112}},
                                   {{255, 138, 66}, {38, 44, 56}, {68, 116, 204}, {208, 226, 255}}};
static const rgb of_numbers[2][4] = {
    {{238, 242, 250}, {170, 198, 246}, {70, 124, 218}, {18, 48, 112}},
    {{34, 40, 54}, {52, 84, 146}, {98, 152, 240}, {214, 230, 255}}};

static rgb colour_of(const rgb *ends, int level) {
  const rgb *a = &ends[level == LEVELS - 1 ? 2 : level / STEPS];
  const double t = (double)(level - (int)(a - ends) * STEPS) / STEPS;
  return (rgb){(int)lround(a[0].r + t * (a[1].r - a[0].r)),
               (int)lround(a[0].g + t * (a[1].g - a[0].g)),
               (int)lround(a[0].b + t * (a[1].b - a[0].b))};
}

static double place(const report_map *m, double value) {
  double t;
  if (!m->loads)
    t = m->high > m->low ? (value - m->low) / (m->high - m->low) : 0.5;
  else if (value <= 1)
    t = value / 3;
  else
    t = 1.0 / 3 + 2.0 / 3 * log(value) / log(m->high);
  return fmin(fmax(t, 0), 1);
}

static void write_rectangle(FILE *to, const report_map *m, int level, double x, double y,
                            double width, double height) {
  const rgb c = colour_of(m->loads ? of_loads[0] : of_numbers[0], level);
  fprintf(to,
          "<rect class=\"%c%d\" x=\"%.4g\" y=\"%.4g\" width=\"%.4g\" height=\"%.4g\" "
          "fill=\"#%02x%02x%02x\"",
          m->loads ? 'h' : 'n', level, x, y, width, height, (unsigned)c.r, (unsigned)c.g,
          (unsigned)c.b);
}

static void write_text(FILE *to, double x, double y, const char *anchor, const char *text) {
  fprintf(to, "<text x=\"%.5g\" y=\"%.5g\" text-anchor=\"%s\">", x, y, anchor);
  page_escape(to, text);
  fputs("</text>", to);
}

/* The name's first characters, as many as there is room for. */
static void shorten(const char *name, char *text, size_t size, int most) {
  int shown = 0;
  size_t i = 0;
  for (; name[i] && i + 4 < size; i++) {
    if (((unsigned char)name[i] & 0xc0) != 0x80 && ++shown > most) break;
    text[i] = name[i];
  }
  text[i] = 0;
  if (name[i]) strcpy(text + i, "…");
}

static int length_of(const char *text) {
  int n = 0;
  for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
  return n;
}

static void write_legend(FILE *to, const report_map *m, double x, double y, double width) {
  char text[32];
  const double cell = width / LEVELS;
  for (int level = 0; level < LEVELS; level++) {
    write_rectangle(to, m, level, x + level * cell, y, cell + 0.3, 9);
    fputs("/>", to);
  }
  fputs("\n<g class=\"legend\">", to);
  if (m->loads) {
    double last = -1;
    for (double tick = 0; tick < m->high; tick = tick < 1 ? 1 : 2 * tick) {
      const double at = place(m, tick);
      /* Room for the largest, at the end. */
      if (at - last < 0.09 || (tick > 1 && 1 - at < 0.12)) continue;
      snprintf(text, sizeof text, "%g", tick);
      write_text(to, x + at * width, y + 22, tick > 0 ? "middle" : "start", text);
      last = at;
    }
    snprintf(text, sizeof text, "%.3g", m->high);
    write_text(to, x + width, y + 22, "end", text);
  } else {
    for (int i = 0; i <= 4; i += 2) {
      snprintf(text, sizeof text, "%.4g", m->low + i / 4.0 * (m->high - m->low));
      write_text(to, x + i / 4.0 * width, y + 22,
                 i == 0   ? "start"
                 : i == 4 ? "end"
                          : "middle",
                 text);
    }
  }
  fputs("</g>", to);
  write_text(to, x + width / 2, y + 38, "middle", m->unit);
}

void report_write_map(FILE *to, const report_map *m, const char *name, int colour,
                      const char *caption) {
  int longest = length_of(m->y), widest = 1;
  for (int r = 0; r < m->rows; r++) longest = (int)fmax(longest, length_of(m->row[r]));
  for (int c = 0; c < m->columns; c++) widest = (int)fmax(widest, length_of(m->column[c]));
  longest = longest > 20 ? 21 : longest;
  const double left = 14 + 7.2 * longest, width = WIDTH - left - 12, top = *m->y ? 22 : 4;
  const double column = width / m->columns;
  const double row = fmin(fmax(150.0 / m->rows, 6), 34), bottom = top + row * m->rows;
  /* Of the names as many as there is room for: each, each second, fourth, ... */
  int every_row = 1, every = 1;
  while (every_row * row < 14) every_row *= 2;
  while (every * column < 8 + 7.2 * widest) every *= 2;
  const double gap = fmin(column, row) > 8 ? 1.5 : 0;
  report_begin_figure(to, name, colour);
  fprintf(to,
          "<svg class=\"map\" viewBox=\"0 0 %d %.0f\" font-family=\"sans-serif\" "
          "font-size=\"12\"><g fill=\"black\">\n",
          WIDTH, bottom + 88);
  if (*m->y) write_text(to, left - 8, 13, "end", m->y);
  for (int r = 0; r < m->rows; r++) {
    char text[96];
    shorten(m->row[r], text, sizeof text, 20);
    if (r % every_row == 0) write_text(to, left - 8, top + (r + 0.5) * row + 4, "end", text);
    for (int c = 0; c < m->columns; c++) {
      const double value = m->value[r * m->columns + c];
      if (isnan(value)) continue;
      write_rectangle(to, m, (int)lround(place(m, value) * (LEVELS - 1)), left + c * column,
                      top + r * row, column - gap, row - gap);
      if (m->rows * m->columns > TITLES) {
        fputs("/>", to);
        continue;
      }
      fputs("><title>", to);
      page_escape(to, m->y);
      fputs(*m->y ? " " : "", to);
      page_escape(to, m->row[r]);
      fputs(", ", to);
      page_escape(to, m->x);
      fputc(' ', to);
      page_escape(to, m->column[c]);
      fprintf(to, ": %.4g</title></rect>", value);
    }
    fputc('\n', to);
  }
  for (int c = 0; c < m->columns; c += every)
    write_text(to, left + (c + 0.5) * column - gap / 2, bottom + 15, "middle", m->column[c]);
  write_text(to, left + width / 2, bottom + 31, "middle", m->x);
  write_legend(to, m, left, bottom + 44, width - gap);
  fputs("\n</g></svg>", to);
  report_end_figure(to, caption);
}

void report_write_map_style(FILE *to) {
  fputs("@media(prefers-color-scheme:dark){", to);
  for (int kind = 0; kind < 2; kind++)
    for (int level = 0; level < LEVELS; level++) {
      const rgb c = colour_of(kind ? of_numbers[1] : of_loads[1], level);
      fprintf(to, "svg .%c%d{fill:#%02x%02x%02x}", kind ? 'n' : 'h', level, (unsigned)c.r,
              (unsigned)c.g, (unsigned)c.b);
    }
  fputs("}", to);
}
