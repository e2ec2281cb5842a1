/* Pictures as inline SVG, drawn by gnuplot where that is found in PATH. */
#ifndef PHIBAL_CLI_AUDIT_PICTURE_H
#define PHIBAL_CLI_AUDIT_PICTURE_H

#include "audit_report.h"

/* The picture numbered i: its caption, and the drawing, malloc'ed; null where there is nothing to
   draw, or where gnuplot is missing or fails. */
char *audit_picture(const audit_report *report, int i);
const char *audit_picture_caption(int i);

#endif
