/* Expression trees: nodes in blocks that a pool owns. */
#include "expression.h"
#include <limits.h>
#include <stdlib.h>

enum { BLOCK_NODES = 128 };

typedef struct block {
  struct block *next;
  size_t used;
  expression node[BLOCK_NODES];
} block;

struct expression_pool {
  block *first;
};

expression_pool *expression_pool_create(void) {
  return calloc(1, sizeof(expression_pool));
}

static void block_destroy(block *b) {
  for (size_t i = 0; i < b->used; i++)
    if (b->node[i].kind == EXPRESSION_NUMBER) mpq_clear(b->node[i].number);
  free(b);
}

void expression_pool_destroy(expression_pool *pool) {
  if (!pool) return;
  while (pool->first) {
    block *b = pool->first;
    pool->first = b->next;
    block_destroy(b);
  }
  free(pool);
}

/* A leaf of that kind. */
static expression *node_new(expression_pool *pool, expression_kind kind) {
  if (!pool->first || pool->first->used == BLOCK_NODES) {
    block *b = malloc(sizeof *b);
    if (!b) return NULL;
    b->next = pool->first;
    b->used = 0;
    pool->first = b;
  }
  expression *e = &pool->first->node[pool->first->used++];
  *e = (expression){.kind = kind, .depth = 1, .size = 1};
  return e;
}

const expression *expression_number(expression_pool *pool, mpq_srcptr value) {
  expression *e = node_new(pool, EXPRESSION_NUMBER);
  if (!e) return NULL;
  mpq_init(e->number);
  mpq_set(e->number, value);
  return e;
}

const expression *expression_integer(expression_pool *pool, long numerator,
                                     unsigned long denominator) {
  expression *e = node_new(pool, EXPRESSION_NUMBER);
  if (!e) return NULL;
  mpq_init(e->number);
  mpq_set_si(e->number, numerator, denominator);
  mpq_canonicalize(e->number);
  return e;
}

const expression *expression_parameter(expression_pool *pool, int index) {
  expression *e = node_new(pool, EXPRESSION_PARAMETER);
  if (e) e->index = index;
  return e;
}

const expression *expression_variable(expression_pool *pool) {
  return node_new(pool, EXPRESSION_VARIABLE);
}

static int add_up_to_most(int a, int b) {
  return a > INT_MAX - b ? INT_MAX : a + b;
}

static expression *node_make(expression_pool *pool, expression_kind kind, const expression *a,
                             const expression *b) {
  if (!a || (!b && expression_arguments(kind) == 2)) return NULL;
  expression *e = node_new(pool, kind);
  if (!e) return NULL;
  e->argument[0] = a;
  e->argument[1] = b;
  e->depth = add_up_to_most(b && b->depth > a->depth ? b->depth : a->depth, 1);
  e->size = add_up_to_most(add_up_to_most(a->size, b ? b->size : 0), 1);
  return e;
}

const expression *expression_make(expression_pool *pool, expression_kind kind, const expression *a,
                                  const expression *b) {
  return node_make(pool, kind, a, b);
}

const expression *expression_sum(expression_pool *pool, int index, const expression *term) {
  expression *e = node_make(pool, EXPRESSION_SUM, term, NULL);
  if (e) e->index = index;
  return e;
}

void expression_set_place(expression_pool *pool, const expression *e, int line, int column) {
  (void)pool; /* owns the node, so that it may be written to */
  if (!e) return;
  ((expression *)e)->line = line;
  ((expression *)e)->column = column;
}

static bool same_leaf(const expression *a, const expression *b) {
  if (a->kind == EXPRESSION_NUMBER) return mpq_equal(a->number, b->number) != 0;
  return a->kind != EXPRESSION_PARAMETER || a->index == b->index;
}

/* Numbers of sums say nothing that their terms do not, and are left aside. */
bool expression_equal(const expression *a, const expression *b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->size != b->size || a->depth != b->depth) return false;
  const int arguments = expression_arguments(a->kind);
  if (arguments == 0) return same_leaf(a, b);
  for (int i = 0; i < arguments; i++)
    if (!expression_equal(a->argument[i], b->argument[i])) return false;
  return true;
}

bool expression_holds(const expression *e, expression_kind kind) {
  if (e->kind == kind) return true;
  for (int i = 0; i < expression_arguments(e->kind); i++)
    if (expression_holds(e->argument[i], kind)) return true;
  return false;
}

int expression_arguments(expression_kind kind) {
  switch (kind) {
  case EXPRESSION_NUMBER:
  case EXPRESSION_PARAMETER:
  case EXPRESSION_VARIABLE:
    return 0;
  case EXPRESSION_SUM:
  case EXPRESSION_NEGATE:
    return 1;
#define FUNCTION(ID, name, arguments)                                                              \
  case EXPRESSION_##ID:                                                                            \
    return arguments;
    EXPRESSION_FUNCTIONS(FUNCTION)
#undef FUNCTION
  default:
    return 2;
  }
}

const char *expression_function_name(expression_kind kind) {
  switch (kind) {
#define FUNCTION(ID, name, arguments)                                                              \
  case EXPRESSION_##ID:                                                                            \
    return name;
    EXPRESSION_FUNCTIONS(FUNCTION)
#undef FUNCTION
  default:
    return NULL;
  }
}
