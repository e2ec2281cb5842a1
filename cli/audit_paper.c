#include "audit_paper.h"
#include "audit_words.h"
#include "audit/builtin.h"
#include <math.h>
#include "audit/phi64.h"
#include "audit/simulation.h"
#include <stdlib.h>
#include <string.h>

enum { REST_STEPS = 20000 };

static const double unbalanced = 0.77, with_negentropy = 0.104;

/* Table 2, top-2 of 16 experts. For the robust potentials it says "delta > 0" and "beta > 0". */
static const audit_paper_row table[AUDIT_PAPER_ROWS] = {
    {.label = "negative entropy", .builtin = "negentropy", .stated = true, .max_violation = 0.104},
    {"Renyi, alpha = 0.95", "renyi", "0.95", true, 0.207, 0, 0, 0},
    {"Tsallis, alpha = 1.1", "tsallis", "1.1", true, 0.402, 0, 0, 0},
    {"lp, p = 2", "lp", "2", true, 0.61, 0, 0, 0},
    {"lp, p = 3", "lp", "3", true, 0.64, 0, 0, 0},
    {"soft-l1", "soft-l1", NULL, false, 0.74, 0, 0, 0},
    {"log-cosh", "log-cosh", NULL, false, 0.745, 0, 0, 0},
    {"pseudo-Huber", "pseudo-huber", NULL, false, 0.75, 0, 0, 0},
    {"lp, p = inf", NULL, NULL, true, 0.76, 0, 0, 0},
    {"lp, p = 1", "lp", "1", true, 0.77, 0, 0, 0},
    {"softplus", "softplus", NULL, true, 0.81, 0, 0, 0},
};

double audit_rest(const phi_potential *phi, const double *parameters, int32_t experts,
                  double stiffness, double alpha, const audit_task *task) {
  double violation = NAN;
  router_loop loop = {.phi = phi,
                      .parameters = parameters,
                      .experts = experts,
                      .eta = 1.0,
                      .alpha = alpha,
                      .pull = task->pull,
                      .target = task->target,
                      .lr = 0.5 * experts / (task->pull + alpha * stiffness)};
  return simulation_rest(&loop, REST_STEPS, &violation) == PHIBAL_OK ? violation : NAN;
}

phibal_status audit_task_fit(int32_t experts, audit_task *task) {
  task->target = calloc((size_t)experts, sizeof *task->target);
  if (!task->target) return phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  simulation_target(experts, unbalanced, task->target);
  const phi_builtin *b = phi_builtin_find("negentropy");
  phi_potential *phi = NULL;
  const double none[PHI_MAX_PARAMETERS] = {0}; /* it has no parameter */
  const phibal_status status = phi_read(b->name, b->text, strlen(b->text), &phi);
  double lo = -10.0, hi = 10.0; /* log2 of the pull over alpha E, which is what counts */
  while (status == PHIBAL_OK && hi - lo > 1e-6) {
    double middle = 0.5 * (lo + hi);
    task->pull = experts * exp2(middle);
    bool less = audit_rest(phi, none, experts, experts, 1.0, task) < with_negentropy;
    *(less ? &lo : &hi) = middle;
  }
  if (phi) phi_destroy(phi);
  return status;
}

static phibal_status find_stiffness(const phi_potential *phi, const phibal_enclosure *at,
                                    double *stiffness) {
  phibal_enclosure c, h;
  phibal_enclosure_init(&c, AUDIT_PRECISION);
  phibal_enclosure_init(&h, AUDIT_PRECISION);
  phibal_enclosure_set_si(&c, 1);
  phibal_status status = audit_stiffness(phi, at, AUDIT_PAPER_EXPERTS, &c, &h);
  *stiffness = 0.5 * (mpfr_get_d(h.lo, MPFR_RNDN) + mpfr_get_d(h.hi, MPFR_RNDN));
  phibal_enclosure_clear(&c);
  phibal_enclosure_clear(&h);
  return status;
}

static phibal_status fill(const audit_task *task, const phi_potential *phi, phibal_enclosure *at,
                          audit_paper_row *r) {
  double parameters[PHI_MAX_PARAMETERS];
  phibal_status status = PHIBAL_OK;
  phi_fallbacks(phi, at);
  if (r->parameter) status = phibal_enclosure_set_str(&at[0], r->parameter);
  if (status == PHIBAL_OK) status = find_stiffness(phi, at, &r->stiffness);
  if (status != PHIBAL_OK) return status;
  phi64_parameters(phi, at, parameters);
  r->common = audit_rest(phi, parameters, AUDIT_PAPER_EXPERTS, r->stiffness, 1.0, task);
  r->equal = r->stiffness > 0.0 ? audit_rest(phi, parameters, AUDIT_PAPER_EXPERTS, r->stiffness,
                                             AUDIT_PAPER_EXPERTS / r->stiffness, task)
                                : NAN;
  return PHIBAL_OK;
}

/* The greatest load's price has no derivative at uniform loads: such a row has no stiffness. */
static phibal_status fill_row(const audit_task *task, audit_paper_row *r) {
  r->stiffness = r->common = r->equal = NAN;
  if (!r->builtin) return PHIBAL_OK;
  const phi_builtin *b = phi_builtin_find(r->builtin);
  phi_potential *phi;
  phibal_status status = phi_read(b->name, b->text, strlen(b->text), &phi);
  if (status != PHIBAL_OK) return status;
  size_t n = (size_t)phi->parameters;
  phibal_enclosure *at = phibal_enclosure_vector(n, AUDIT_PRECISION);
  status = at ? fill(task, phi, at, r) : phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory");
  phibal_enclosure_vector_clear(at, n);
  phi_destroy(phi);
  return status;
}

/* The rank of x[i], equal ones sharing theirs: 1 + how many are less + half the equal others. */
static double rank_of(const double *x, int n, int i) {
  double rank = 1.0;
  for (int j = 0; j < n; j++)
    if (j != i) rank += x[j] < x[i] ? 1.0 : x[j] == x[i] ? 0.5 : 0.0;
  return rank;
}

/* Spearman's: the correlation of ranks. */
static double rank_correlation(const double *x, const double *y, int n) {
  double xy = 0.0, xx = 0.0, yy = 0.0, middle = 0.5 * (n + 1);
  for (int i = 0; i < n; i++) {
    double a = rank_of(x, n, i) - middle, b = rank_of(y, n, i) - middle;
    xy += a * b, xx += a * a, yy += b * b;
  }
  return xy / sqrt(xx * yy);
}

static int correlate(const audit_paper *p, bool stated, double *correlation) {
  double stiffness[AUDIT_PAPER_ROWS], evenness[AUDIT_PAPER_ROWS];
  int n = 0;
  for (int i = 0; i < AUDIT_PAPER_ROWS; i++) {
    if (isnan(p->row[i].stiffness) || (stated && !p->row[i].stated)) continue;
    stiffness[n] = p->row[i].stiffness;
    evenness[n++] = -p->row[i].max_violation;
  }
  *correlation = rank_correlation(stiffness, evenness, n);
  return n;
}

phibal_status audit_paper_compare(audit_paper *paper) {
  audit_task task = {0};
  phibal_status status = audit_task_fit(AUDIT_PAPER_EXPERTS, &task);
  memcpy(paper->row, table, sizeof table);
  for (int i = 0; status == PHIBAL_OK && i < AUDIT_PAPER_ROWS; i++)
    status = fill_row(&task, &paper->row[i]);
  paper->rows_stated = correlate(paper, true, &paper->rank_stated);
  paper->rows_all = correlate(paper, false, &paper->rank_all);
  free(task.target);
  return status;
}

/* ---- what it says ---- */

static const audit_paper_row *find_row(const audit_paper *p, const char *label) {
  for (int i = 0; i < AUDIT_PAPER_ROWS; i++)
    if (strcmp(p->row[i].label, label) == 0) return &p->row[i];
  return &p->row[0];
}

static void print_number(FILE *to, int width, int digits, double x) {
  if (isnan(x))
    fprintf(to, "%*s", width, "-");
  else
    fprintf(to, "%*.*f", width, digits, x);
}

static void print_row(FILE *to, const audit_paper_row *r) {
  fprintf(to, "  %-22s", r->label);
  print_number(to, 11, 4, r->stiffness);
  print_number(to, 11, 3, r->max_violation);
  print_number(to, 14, 3, r->common);
  print_number(to, 14, 3, r->equal);
  fprintf(to, "%s\n", r->stated ? "" : "  (*)");
}

static void say_order(const audit_paper *p, char **text) {
  const audit_paper_row *least = NULL, *most = NULL;
  for (int i = 0; i < AUDIT_PAPER_ROWS; i++) {
    const audit_paper_row *r = &p->row[i];
    if (!(r->stiffness > 0.0)) continue;
    if (!least || r->stiffness < least->stiffness) least = r;
    if (!most || r->stiffness > most->stiffness) most = r;
  }
  audit_append(text,
               "At one alpha the potentials of the table differ in stiffness by a factor of %.3g, "
               "from %.3g (%s) to %.3g (%s). The order of stiffness and the paper's order of "
               "evenness have the rank correlation %.2f (%d rows whose parameter is stated; %.2f "
               "with the other three at this catalogue's defaults). ",
               most->stiffness / least->stiffness, least->stiffness, least->label, most->stiffness,
               most->label, p->rank_stated, p->rows_stated, p->rank_all);
}

/* How much of the gap between p = 2 and negative entropy the model makes from stiffness alone. */
static double explained(const audit_paper *p) {
  const audit_paper_row *euclid = find_row(p, "lp, p = 2"), *entropy = &p->row[0];
  return (euclid->common - entropy->common) / (euclid->max_violation - entropy->max_violation);
}

static void say_gap(const audit_paper *p, char **text) {
  const audit_paper_row *euclid = find_row(p, "lp, p = 2");
  double least = INFINITY, most = -INFINITY;
  for (int i = 0; i < AUDIT_PAPER_ROWS; i++) {
    least = fmin(least, p->row[i].equal);
    most = fmax(most, p->row[i].equal);
  }
  audit_append(text,
               "A simulated router, fitted to two rows only (%.3f without balancing, which p = 1 "
               "is, and %.3f with negative entropy), rests at %.3f with p = 2 at the same alpha, "
               "where the paper has %.3f: stiffness alone makes %.0f %% of that gap. At equal "
               "stiffness it rests between %.3f and %.3f with any of them. ",
               unbalanced, with_negentropy, euclid->common, euclid->max_violation,
               100.0 * explained(p), least, most);
}

static void say_verdict(const audit_paper *p, char **text) {
  bool stiffer = explained(p) > 0.75 && explained(p) < 1.25 && p->rank_stated > 0.7;
  audit_append(text, "%s",
               stiffer ? "So the distance between negative entropy and the norms is what a stiffer "
                         "potential gives at the same alpha; the table does not show that it is a "
                         "better one. "
                       : "So stiffness does not account for the distance between negative entropy "
                         "and the norms. ");
  bool any = false;
  for (int i = 0; i < AUDIT_PAPER_ROWS; i++) {
    const audit_paper_row *r = &p->row[i];
    if (!r->stated || !(fabs(log(r->common / r->max_violation)) > log(1.5))) continue;
    audit_append(text, "%s%s (paper %.3f, stiffness alone %.3f)",
                 any ? ", " : "Stiffness does not explain, by a factor of more than 1.5: ",
                 r->label, r->max_violation, r->common);
    any = true;
  }
  if (any) audit_append(text, ".");
}

static char *verdict_text(const audit_paper *p) {
  char *text = NULL;
  say_order(p, &text);
  say_gap(p, &text);
  say_verdict(p, &text);
  return text;
}

void audit_paper_print(const audit_paper *p, FILE *to) {
  fputs("The paper's ablation of potentials (its Table 2, 16 experts, one alpha for all)\n", to);
  fprintf(to, "  %-22s%11s%11s%14s%14s\n", "", "", "MaxVio,", "simulated,", "simulated,");
  fprintf(to, "  %-22s%11s%11s%14s%14s\n", "potential", "stiffness", "paper", "same alpha",
          "equal stiffn.");
  for (int i = 0; i < AUDIT_PAPER_ROWS; i++) print_row(to, &p->row[i]);
  fputs(
      "  (*) the paper does not state the parameter; this catalogue's default\n"
      "  -   there is none: p = inf has no derivative at uniform loads, and no alpha makes p = 1,\n"
      "      whose prices are all equal, as strong as another\n\n",
      to);
  char *text = verdict_text(p);
  if (text) audit_print_wrapped(to, text, 0);
  free(text);
}

static json_t *number(double x) {
  return isfinite(x) ? json_real(x) : json_null();
}

json_t *audit_paper_json(const audit_paper *p) {
  json_t *rows = json_array();
  for (int i = 0; i < AUDIT_PAPER_ROWS; i++) {
    const audit_paper_row *r = &p->row[i];
    json_t *object = json_object();
    json_object_set_new(object, "label", json_string(r->label));
    json_object_set_new(object, "parameter_stated", json_boolean(r->stated));
    json_object_set_new(object, "max_violation", json_real(r->max_violation));
    json_object_set_new(object, "stiffness", number(r->stiffness));
    json_object_set_new(object, "simulated_at_common_alpha", number(r->common));
    json_object_set_new(object, "simulated_at_equal_stiffness", number(r->equal));
    json_array_append_new(rows, object);
  }
  char *text = verdict_text(p);
  json_t *object = json_object();
  json_object_set_new(object, "experts", json_integer(AUDIT_PAPER_EXPERTS));
  json_object_set_new(object, "rows", rows);
  json_object_set_new(object, "rank_correlation_stated", number(p->rank_stated));
  json_object_set_new(object, "rank_correlation_all", number(p->rank_all));
  json_object_set_new(object, "explained_by_stiffness", number(explained(p)));
  json_object_set_new(object, "verdict", json_string(text ? text : ""));
  free(text);
  return object;
}
