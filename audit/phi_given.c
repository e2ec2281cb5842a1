/* Values of parameters as --param gives them. */
#include "phi.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* lo..hi, or one number */
static phibal_status read_value(const char *text, bool intervals, phibal_enclosure *z) {
  const char *dots = strstr(text, "..");
  if (!dots) return phibal_enclosure_set_str(z, text);
  if (!intervals)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "'%s' is an interval; expected one number, such as 0.1 or 1/3", text);
  char *lo = strndup(text, (size_t)(dots - text));
  if (!lo) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  phibal_enclosure end;
  phibal_enclosure_init(&end, mpfr_get_prec(z->lo));
  phibal_status status = phibal_enclosure_set_str(z, lo);
  if (status == PHIBAL_OK) status = phibal_enclosure_set_str(&end, dots + 2);
  if (status == PHIBAL_OK && mpfr_greater_p(z->lo, end.hi))
    status = phibal_status_set(PHIBAL_ERROR_ARGUMENT, "the second number is the smaller one");
  if (status == PHIBAL_OK) phibal_enclosure_hull(z, z, &end);
  phibal_enclosure_clear(&end);
  free(lo);
  return status;
}

phibal_status phi_read_parameter(const phi_potential *phi, const char *text, bool intervals,
                                 phibal_enclosure *parameters, int *which) {
  const char *equals = strchr(text, '=');
  const size_t length = strcspn(text, "=");
  *which = -1;
  for (int i = 0; equals && i < phi->parameters; i++)
    if (strlen(phi->parameter[i].name) == length &&
        strncmp(phi->parameter[i].name, text, length) == 0)
      *which = i;
  if (*which >= 0) return read_value(equals + 1, intervals, &parameters[*which]);
  if (phi->parameters == 0)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "%s has no parameters", phi->name);
  char known[512] = "";
  for (int i = 0; i < phi->parameters; i++)
    snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
             phi->parameter[i].name);
  const char *first = phi->parameter[0].name;
  return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "the parameters of %s: %s; write %s=1/2%s%s%s",
                           phi->name, known, first, intervals ? " or " : "", intervals ? first : "",
                           intervals ? "=1/4..1/2" : "");
}
