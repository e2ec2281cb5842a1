/* The dynamics as a table, for the text and for the page. */
#include "audit_table.h"
#include "audit_words.h"
#include <math.h>
#include <string.h>

typedef void cell_writer(const audit_report *r, size_t column, int row, audit_cell *cell);

/* Why there is no number, or none but 0. */
typedef enum gap { NOT_SMOOTH, NOT_STIFF, NO_PRICE, NO_SCALE, NO_LIMIT, NEAR_ZERO, GAPS } gap;
static const char *const gaps[GAPS] = {
    [NOT_SMOOTH] = "no second derivative is enclosed at uniform loads",
    [NOT_STIFF] = "the stiffness, by which this is divided, is not known to be positive",
    [NO_PRICE] = "more than the total load, or no price at such loads",
    [NO_SCALE] = "no second derivative is enclosed with m so small",
    [NO_LIMIT] = "the simulation was left out, or found no step that it is stable below",
    [NEAR_ZERO] = "0, or closer to it than 1e-25",
};

typedef struct table {
  const audit_report *report;
  audit_row_emitter *emit;
  void *context;
  int *footnote; /* [GAPS]: the number of each that the rows refer to, from 1 */
} table;

static void leave_out(audit_cell *cell, gap why) {
  snprintf(cell->text, sizeof cell->text, "?%d", (int)why);
}

/* "- [1]" with the footnote's number for what leave_out has left; "0 [1]" for what audit_short
   writes as "0+-3e-39". */
static void number_gap(const table *t, audit_cell *cell) {
  const bool zero = strncmp(cell->text, "0+-", 3) == 0;
  if (cell->text[0] != '?' && !zero) return;
  int *number = &t->footnote[zero ? NEAR_ZERO : cell->text[1] - '0'], last = 0;
  for (int why = 0; why < GAPS; why++)
    if (t->footnote[why] > last) last = t->footnote[why];
  if (!*number) *number = last + 1;
  snprintf(cell->text, sizeof cell->text, "%c [%d]", zero ? '0' : '-', *number);
}

static void emit_row(const table *t, const char *label, const char *meaning, cell_writer *write,
                     int row) {
  audit_cell cells[AUDIT_EXPERT_COUNTS];
  for (size_t i = 0; i < t->report->counts; i++) {
    write(t->report, i, row, &cells[i]);
    number_gap(t, &cells[i]);
  }
  t->emit(t->context, label, meaning, t->report->counts, cells);
}

static void emit_heading(const table *t, const char *label, const char *meaning) {
  t->emit(t->context, label, meaning, 0, NULL);
}

static void experts_cell(const audit_report *r, size_t i, int row, audit_cell *cell) {
  (void)row;
  snprintf(cell->text, sizeof cell->text, "%d", (int)r->dynamics[i].experts);
}

static void stiffness_cell(const audit_report *r, size_t i, int row, audit_cell *cell) {
  const audit_dynamics *d = &r->dynamics[i];
  const phibal_enclosure *x[] = {&d->stiffness, &d->effective, &d->equal_negentropy,
                                 &d->equal_switch};
  if (row < 2 ? d->known : d->stiff)
    audit_short(x[row], cell->text, sizeof cell->text);
  else
    leave_out(cell, d->known ? NOT_STIFF : NOT_SMOOTH);
}

static void price_cell(const audit_price *p, audit_cell *cell) {
  if (!p->exists) {
    leave_out(cell, NO_PRICE);
    return;
  }
  audit_short(&p->value, cell->text, sizeof cell->text);
  if (p->floored && strlen(cell->text) + 1 < sizeof cell->text) strcat(cell->text, "*");
}

static void share_cell(const audit_report *r, size_t i, int row, audit_cell *cell) {
  price_cell(&r->dynamics[i].share[row], cell);
}

static void vertex_cell(const audit_report *r, size_t i, int row, audit_cell *cell) {
  price_cell(row ? &r->dynamics[i].empty : &r->dynamics[i].full, cell);
}

static void scale_cell(const audit_report *r, size_t i, int row, audit_cell *cell) {
  const audit_dynamics *d = &r->dynamics[i];
  if (row < d->scales)
    audit_short(&d->scale[row], cell->text, sizeof cell->text);
  else
    leave_out(cell, d->stiff ? NO_SCALE : d->known ? NOT_STIFF : NOT_SMOOTH);
}

static void power_cell(const audit_report *r, size_t i, int row, audit_cell *cell) {
  (void)row;
  const audit_dynamics *d = &r->dynamics[i];
  if (d->scales == AUDIT_SCALES)
    audit_short(&d->scale_power, cell->text, sizeof cell->text);
  else
    leave_out(cell, d->stiff ? NO_SCALE : d->known ? NOT_STIFF : NOT_SMOOTH);
}

static void stable_cell(const audit_report *r, size_t i, int row, audit_cell *cell) {
  const audit_dynamics *d = &r->dynamics[i];
  if (d->stiff)
    audit_short(&d->stable[row], cell->text, sizeof cell->text);
  else
    leave_out(cell, d->known ? NOT_STIFF : NOT_SMOOTH);
}

static void overshoot_cell(const audit_report *r, size_t i, int row, audit_cell *cell) {
  const audit_dynamics *d = &r->dynamics[i];
  if (d->stiff)
    audit_short(&d->overshoots[row], cell->text, sizeof cell->text);
  else
    leave_out(cell, d->known ? NOT_STIFF : NOT_SMOOTH);
}

static void measured_cell(const audit_report *r, size_t i, int row, audit_cell *cell) {
  const audit_loop *loop = &r->loop[i];
  if (loop->simulated && !isnan(loop->limit[row]))
    snprintf(cell->text, sizeof cell->text, isinf(loop->limit[row]) ? "any" : "%.6g",
             loop->limit[row]);
  else
    leave_out(cell, NO_LIMIT);
}

static void settle_cell(const audit_report *r, size_t i, int row, audit_cell *cell) {
  const audit_loop *loop = &r->loop[i];
  leave_out(cell, NO_LIMIT);
  if (!loop->simulated) return;
  if (row == 0 && loop->settled >= 0) snprintf(cell->text, sizeof cell->text, "%d", loop->settled);
  if (row == 0 && loop->settled < 0) snprintf(cell->text, sizeof cell->text, "never");
  if (row == 1 && isfinite(loop->least))
    snprintf(cell->text, sizeof cell->text, "%.3g", loop->least);
}

static void emit_prices(const table *t) {
  static const struct {
    const char *label, *meaning;
  } shares[AUDIT_SHARES] = {{"  0", "an idle expert: below 0, tokens are drawn to it"},
                            {"  1/4", "a quarter of its share"},
                            {"  1/2", "half of its share"},
                            {"  2", "twice its share: above 0, tokens are driven from it"},
                            {"  4", "four times its share"},
                            {"  8", "eight times its share; with 8 experts it has everything"}};
  emit_heading(t, "centred price of an expert with this much of its share, the others equal",
               "times alpha E, it is the gradient of the balancing loss in the expert's mean "
               "probability; over the experts its mean is 0");
  for (int i = 0; i < AUDIT_SHARES; i++)
    emit_row(t, shares[i].label, shares[i].meaning, share_cell, i);
  emit_row(t, "price of the only expert", "not centred, where one expert has every token",
           vertex_cell, 0);
  emit_row(t, "price of an empty one beside it",
           "the difference to the row above is what drives tokens from one to the other",
           vertex_cell, 1);
}

static void emit_scales(const table *t) {
  static const struct {
    int row;
    const char *label, *meaning;
  } rows[] = {{1, "  1/2", "as after a first step with eta 1/2"},
              {4, "  1/16", "as after a first step with eta 1/16"},
              {10, "  2^-10", "as after a first step with eta of about 0.001"},
              {20, "  2^-20", "as after a first step with eta of about a millionth"}};
  emit_heading(t, "restoring force while m has only grown to this part of the simplex",
               "m, the average of loads that prices are taken of, starts at 0; 1 is the force on "
               "the same relative imbalance once it has grown");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    emit_row(t, rows[i].label, rows[i].meaning, scale_cell, rows[i].row);
  emit_row(t, "  goes as this power of it, near 0",
           "0: as strong from the start; above 0: weak at first; below: strong at first",
           power_cell, 0);
}

static void emit_limits(const table *t) {
  emit_heading(t, "lr alpha at which the closed loop near uniform loads",
               "the product of learning rate and alpha, for a router that gradient descent moves "
               "by the balancing loss alone");
  for (int i = 0; i < AUDIT_ETAS; i++) {
    char label[64];
    snprintf(label, sizeof label, "  eta %g: overshoots above", audit_eta[i]);
    emit_row(t, label, "loads swing past balance before they come to rest", overshoot_cell, i);
    emit_row(t, "    is stable below, linearised",
             "a small imbalance dies away, to first order; above, it grows", stable_cell, i);
    emit_row(t, "    and in a simulation", "the same limit, measured on the loop itself",
             measured_cell, i);
  }
}

static bool any_floored(const audit_report *r) {
  bool floored = false;
  for (size_t i = 0; i < r->counts; i++) {
    for (int j = 0; j < AUDIT_SHARES; j++) floored = floored || r->dynamics[i].share[j].floored;
    floored = floored || r->dynamics[i].full.floored;
  }
  return floored;
}

void audit_dynamics_rows(const audit_options *o, const audit_report *r, audit_row_emitter *emit,
                         void *context) {
  int footnote[GAPS] = {0};
  const table t = {r, emit, context, footnote};
  char text[128], never[64];
  emit_row(&t, "experts E", NULL, experts_cell, 0);
  emit_row(&t, phi_separable(r->phi) ? "stiffness psi''(1/E)" : "stiffness h, on the tangent space",
           "how fast an expert's price rises with its load, where loads are even", stiffness_cell,
           0);
  emit_row(&t, "effective coefficient for alpha = 1",
           "E times the stiffness: how hard a small relative imbalance is pushed back",
           stiffness_cell, 1);
  emit_row(&t, "alpha as strong as negentropy's 1",
           "near even loads this alpha pushes as hard as negative entropy with alpha 1",
           stiffness_cell, 2);
  emit_row(&t, "alpha as strong as ST-MoE's 1",
           "the same against the loss of Switch and ST-MoE, whose price is the load itself",
           stiffness_cell, 3);
  emit_prices(&t);
  emit_scales(&t);
  emit_limits(&t);
  snprintf(text, sizeof text, "simulation, eta %g, alpha %g, lr %g, one logit %g ahead, m from 0",
           o->eta, o->alpha, o->lr, audit_settle_head);
  emit_heading(&t, text,
               "a router of logits alone, moved by gradient descent on the balancing loss");
  snprintf(text, sizeof text, "  steps until all loads stay within %g %%", 100 * audit_settle_goal);
  snprintf(never, sizeof never, "of an even share; never: not within %d steps", AUDIT_SETTLE_STEPS);
  emit_row(&t, text, never, settle_cell, 0);
  emit_row(&t, "  least load on the way, in shares",
           "of the expert that gets least: near 0, one was starved on the way", settle_cell, 1);
  for (int number = 1; number <= GAPS; number++)
    for (int why = 0; why < GAPS; why++) {
      if (footnote[why] != number) continue;
      snprintf(text, sizeof text, "[%d] %s", number, gaps[why]);
      emit_heading(&t, text, NULL);
    }
  if (any_floored(r))
    emit_heading(&t, "* unbounded at an empty expert: at the smallest load of kernels, 2^-126",
                 NULL);
}
