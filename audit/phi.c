/* A potential as a whole: its end, its sums, its separable form. */
#include "phi_internal.h"
#include <stdlib.h>

static void range_clear(phi_range *r) {
  mpq_clears(r->lo.value, r->hi.value, NULL);
}

static void parameter_clear(phi_parameter *parameter) {
  for (int i = 0; i < parameter->ranges; i++) range_clear(&parameter->range[i]);
  free(parameter->range);
  free(parameter->name);
  mpq_clear(parameter->fallback);
}

void phi_destroy(phi_potential *phi) {
  if (!phi) return;
  for (int i = 0; i < phi->parameters; i++) parameter_clear(&phi->parameter[i]);
  free(phi->value.condition);
  free(phi->gradient.condition);
  free(phi->conjugate.condition);
  expression_pool_destroy(phi->pool);
  free(phi->name);
  free(phi);
}

/* Where sums are numbered: those of a section's expression, or of its conditions. */
typedef struct sum_list {
  const expression **sum;
  int *count;
} sum_list;

/* The number of the sum of that term, a new one if no sum has it; -1 if there are too many. */
static int number_of_sum(const sum_list *list, const expression *term) {
  for (int i = 0; i < *list->count; i++)
    if (expression_equal(list->sum[i], term)) return i;
  if (*list->count == PHI_MAX_SUMS) return -1;
  list->sum[*list->count] = term;
  return (*list->count)++;
}

/* e with its sums numbered: rebuilt where it holds sums, as names of `let` may serve more than one
   section. Null after a failure, with *excess set where there are too many. */
static const expression *numbered(expression_pool *pool, const expression *e, const sum_list *list,
                                  bool *excess) {
  const expression *result = e;
  if (e->kind == EXPRESSION_SUM) {
    const int number = number_of_sum(list, e->argument[0]);
    *excess = number < 0;
    result = *excess ? NULL : expression_sum(pool, number, e->argument[0]);
  } else if (expression_holds(e, EXPRESSION_SUM)) {
    const expression *argument[2] = {NULL, NULL};
    for (int i = 0; i < expression_arguments(e->kind); i++) {
      argument[i] = numbered(pool, e->argument[i], list, excess);
      if (!argument[i]) return NULL;
    }
    result = expression_make(pool, e->kind, argument[0], argument[1]);
  }
  expression_set_place(pool, result, e->line, e->column);
  return result;
}

static bool number(phi_parser *p, const phi_token *at, const sum_list *list,
                   const expression **place) {
  bool excess = false;
  *place = numbered(p->phi->pool, *place, list, &excess);
  if (*place) return true;
  return excess ? phi_fail(p, at, "at most %d different sums in it", PHI_MAX_SUMS)
                : phi_out_of_memory(p);
}

bool phi_number_sums(phi_parser *p, const phi_token *at, phi_section *section) {
  const sum_list list = {section->sum, &section->sums};
  return number(p, at, &list, &section->expression);
}

bool phi_number_condition_sums(phi_parser *p, const phi_token *at, phi_section *section) {
  const sum_list list = {section->condition_sum, &section->condition_sums};
  for (int i = 0; i < section->conditions; i++)
    if (!number(p, at, &list, &section->condition[i].left) ||
        !number(p, at, &list, &section->condition[i].right))
      return false;
  return true;
}

static const expression *separable_part(phi_potential *phi, const expression *e);

/* a + b where one may be a constant, which the component does without. */
static const expression *part_of_sum(phi_potential *phi, const expression *e) {
  const expression *a = e->argument[0], *b = e->argument[1];
  if (!expression_holds(b, EXPRESSION_SUM)) return separable_part(phi, a);
  if (expression_holds(a, EXPRESSION_SUM))
    return expression_make(phi->pool, e->kind, separable_part(phi, a), separable_part(phi, b));
  const expression *part = separable_part(phi, b);
  return e->kind == EXPRESSION_ADD ? part
                                   : expression_make(phi->pool, EXPRESSION_NEGATE, part, NULL);
}

static const expression *part_of_product(phi_potential *phi, const expression *e) {
  const expression *a = e->argument[0], *b = e->argument[1];
  if (!expression_holds(b, EXPRESSION_SUM))
    return expression_make(phi->pool, e->kind, separable_part(phi, a), b);
  if (e->kind == EXPRESSION_DIVIDE || expression_holds(a, EXPRESSION_SUM)) return NULL;
  return expression_make(phi->pool, e->kind, a, separable_part(phi, b));
}

/* The component of e, which holds a sum; null if e is not affine in its sums. */
static const expression *separable_part(phi_potential *phi, const expression *e) {
  switch (e->kind) {
  case EXPRESSION_SUM:
    return e->argument[0];
  case EXPRESSION_NEGATE:
    return expression_make(phi->pool, EXPRESSION_NEGATE, separable_part(phi, e->argument[0]), NULL);
  case EXPRESSION_ADD:
  case EXPRESSION_SUBTRACT:
    return part_of_sum(phi, e);
  case EXPRESSION_MULTIPLY:
  case EXPRESSION_DIVIDE:
    return part_of_product(phi, e);
  default:
    return NULL;
  }
}

const expression *phi_separable(phi_potential *phi) {
  const expression *e = phi->value.expression;
  if (!expression_holds(e, EXPRESSION_SUM)) return expression_integer(phi->pool, 0, 1);
  return separable_part(phi, e);
}
