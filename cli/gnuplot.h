/* Pictures for pages, drawn by gnuplot where it is installed. */
#ifndef PHIBAL_CLI_GNUPLOT_H
#define PHIBAL_CLI_GNUPLOT_H

#include <stdbool.h>

bool gnuplot_exists(void);
/* Runs a script whose terminal is svg; what it draws as an <svg> element that can stand in a page,
   to be freed; null if gnuplot refuses it. */
char *gnuplot_draw(const char *script);

#endif
