/* The final tables of a run, from result.json: one run, or several side by side. */
#ifndef PHIBAL_MOE_REPORT_H
#define PHIBAL_MOE_REPORT_H

#include <jansson.h>
#include <phibal/status.h>
#include <stdbool.h>
#include <stdio.h>

/* A member by its path, such as "validation.mean.maxvio_loads"; null if missing. */
json_t *report_member(const json_t *json, const char *path);
/* Writes the tables of n >= 1 results. Routed-token ratios are shown for the middle and the last
   MoE layer, or for every layer. PHIBAL_ERROR_FORMAT if a result lacks what a table needs. */
phibal_status report_write(FILE *to, int n, json_t *const *results, bool every_layer);
/* The tables of one evaluation: {"label", "routing", "validation"} as in result.json, with the
   details of result_details. */
void report_write_evaluation(FILE *to, json_t *result, bool every_layer);

#endif
