/* `phibal audit --all`: the built-ins side by side, and what that says about the paper's ablation.
 */
#include "audit_all.h"
#include "audit_paper.h"
#include "audit_words.h"
#include "audit/builtin.h"
#include <math.h>
#include "audit/phi64.h"
#include <phibal/potential.h>
#include "audit/simulation.h"
#include <stdlib.h>
#include <string.h>

/* A potential with its default parameters, for one number of experts. */
typedef struct row {
  phi_potential *phi;
  phibal_enclosure *at;
  double parameter[PHI_MAX_PARAMETERS];
  audit_dynamics dynamics;
  bool found;
  double stable;        /* lr alpha, measured, for audit_eta[0] */
  double common, equal; /* MaxVio at rest: at one alpha for all; at equal stiffness */
} row;

static phibal_status open_row(const phi_builtin *b, row *r) {
  phibal_status status = phi_read(b->name, b->text, strlen(b->text), &r->phi);
  if (status != PHIBAL_OK) return status;
  r->at = phibal_enclosure_vector((size_t)r->phi->parameters, AUDIT_PRECISION);
  if (!r->at) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  phi_fallbacks(r->phi, r->at);
  phi64_parameters(r->phi, r->at, r->parameter);
  return PHIBAL_OK;
}

static void close_row(row *r) {
  if (r->found) audit_dynamics_clear(&r->dynamics);
  if (r->at) phibal_enclosure_vector_clear(r->at, (size_t)r->phi->parameters);
  if (r->phi) phi_destroy(r->phi);
}

static double to_double(const phibal_enclosure *x) {
  return 0.5 * (mpfr_get_d(x->lo, MPFR_RNDN) + mpfr_get_d(x->hi, MPFR_RNDN));
}

static phibal_status fill_row(row *r, int32_t experts, const audit_task *task) {
  phibal_status status = audit_dynamics_find(r->phi, r->at, experts, &r->dynamics);
  r->found = true;
  if (status == PHIBAL_OK)
    status = simulation_limit(r->phi, r->parameter, experts, audit_eta[0], &r->stable);
  r->common = r->equal = NAN;
  if (status != PHIBAL_OK || !r->dynamics.stiff) return status;
  double h = to_double(&r->dynamics.stiffness);
  r->common = audit_rest(r->phi, r->parameter, experts, h, 1.0, task);
  r->equal = audit_rest(r->phi, r->parameter, experts, h, experts / h, task);
  return PHIBAL_OK;
}

/* ---- printing ---- */

static void print_price(const audit_price *p) {
  char text[64] = "-";
  if (p->exists) audit_short(&p->value, text, sizeof text - 1);
  if (p->floored) strcat(text, "*");
  printf(" %11s", text);
}

static void print_enclosure(bool exists, const phibal_enclosure *x) {
  char text[64] = "-";
  if (exists) audit_short(x, text, sizeof text);
  printf(" %11s", text);
}

static void print_row(const row *r) {
  const audit_dynamics *d = &r->dynamics;
  printf("  %-12s", r->phi->name);
  print_enclosure(d->known, &d->stiffness);
  print_enclosure(d->known, &d->effective);
  print_enclosure(d->stiff, &d->equal_negentropy);
  print_price(&d->share[0]);
  print_price(&d->share[4]);
  printf(" %10.4g%8.3f%8.3f\n", r->stable, r->common, r->equal);
}

static void print_table(const row *rows, size_t n, int32_t experts) {
  printf("E = %d\n", (int)experts);
  printf("  %-12s %11s %11s %11s %11s %11s %10s%8s%8s\n", "", "", "effective",
         "alpha =", "price at", "price at", "lr alpha", "MaxVio,", "MaxVio,");
  printf("  %-12s %11s %11s %11s %11s %11s %10s%8s%8s\n", "potential", "stiffness", "coeff.",
         "negent.", "0 share", "4 shares", "stable to", "same a.", "equal");
  for (size_t i = 0; i < n; i++) print_row(&rows[i]);
  putchar('\n');
}

static void print_settings(const row *rows, size_t n) {
  fputs("The built-ins at their default parameters:", stdout);
  bool first = true;
  for (size_t i = 0; i < n; i++)
    for (int j = 0; j < rows[i].phi->parameters; j++) {
      char text[64];
      audit_short(&rows[i].at[j], text, sizeof text);
      printf("%s %s %s = %s", first ? "" : ",", rows[i].phi->name, rows[i].phi->parameter[j].name,
             text);
      first = false;
    }
  puts(
      ".\n"
      "Stiffness, coefficients (for alpha = 1) and centred prices are enclosures, here to five\n"
      "digits; * marks a price that is unbounded at no load, taken at 2^-126. The last three\n"
      "columns are simulations: lr alpha up to which the loop is stable (eta 0.65), and MaxVio at\n"
      "rest under a task that pulls towards unequal loads: at the same alpha for all, and at the\n"
      "alpha that makes all as stiff as negative entropy.\n");
}

static json_t *row_json(const row *r) {
  json_t *object = audit_dynamics_json(&r->dynamics);
  json_object_set_new(object, "potential", json_string(r->phi->name));
  const double simulated[] = {r->stable, r->common, r->equal};
  const char *const keys[] = {"simulated_lr_alpha_stable_below",
                              "simulated_max_violation_at_common_alpha",
                              "simulated_max_violation_at_equal_stiffness"};
  for (int i = 0; i < 3; i++)
    json_object_set_new(object, keys[i],
                        isfinite(simulated[i]) ? json_real(simulated[i]) : json_null());
  return object;
}

/* One number of experts: computes, and prints or appends. */
static phibal_status compare(int32_t experts, bool first, json_t *list) {
  row rows[PHIBAL_POTENTIAL_COUNT] = {0};
  audit_task task = {0};
  phibal_status status = audit_task_fit(experts, &task);
  size_t n = 0;
  for (; status == PHIBAL_OK && n < phi_builtins_count; n++) {
    status = open_row(&phi_builtins[n], &rows[n]);
    if (status == PHIBAL_OK) status = fill_row(&rows[n], experts, &task);
  }
  if (status == PHIBAL_OK && !list) {
    if (first) print_settings(rows, n);
    print_table(rows, n, experts);
  }
  for (size_t i = 0; status == PHIBAL_OK && list && i < n; i++)
    json_array_append_new(list, row_json(&rows[i]));
  for (size_t i = 0; i < n; i++) close_row(&rows[i]);
  free(task.target);
  return status;
}

phibal_status audit_all(const audit_options *o) {
  json_t *list = o->json ? json_array() : NULL;
  phibal_status status = PHIBAL_OK;
  for (int i = 0; status == PHIBAL_OK && i < AUDIT_EXPERT_COUNTS; i++)
    status = compare(audit_expert_counts[i], i == 0, list);
  audit_paper paper;
  if (status == PHIBAL_OK) status = audit_paper_compare(&paper);
  if (status != PHIBAL_OK) {
    json_decref(list);
    return status;
  }
  if (o->json) {
    json_t *object = json_pack("{s:o, s:o}", "potentials", list, "paper", audit_paper_json(&paper));
    json_dumpf(object, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(object);
  } else {
    audit_paper_print(&paper, stdout);
  }
  return PHIBAL_OK;
}
