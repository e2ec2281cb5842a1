/* .phi files: their statements, in order. */
#include "phi_internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void phi_advance(phi_parser *p) {
  p->token = phi_lexer_next(&p->lexer);
}

bool phi_accept(phi_parser *p, const char *text) {
  if (!phi_token_is(&p->token, text)) return false;
  phi_advance(p);
  return true;
}

bool phi_expect(phi_parser *p, const char *text) {
  return phi_accept(p, text) || phi_fail(p, &p->token, "'%s'", text);
}

bool phi_fail(phi_parser *p, const phi_token *token, const char *expected, ...) {
  va_list arguments;
  va_start(arguments, expected);
  p->status = phi_token_refuse_list(&p->lexer, token, expected, arguments);
  va_end(arguments);
  return false;
}

bool phi_out_of_memory(phi_parser *p) {
  p->status = phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", p->lexer.file);
  return false;
}

/* potential NAME */
static bool parse_potential(phi_parser *p) {
  if (!phi_token_is(&p->token, "potential"))
    return phi_fail(p, &p->token, "'potential' and a name");
  phi_token name = phi_lexer_next(&p->lexer);
  if (name.kind != PHI_TOKEN_WORD) return phi_fail(p, &name, "a name of letters, digits, - and _");
  phi_lexer_extend_name(&p->lexer, &name);
  phi_advance(p);
  p->phi->name = strndup(name.text, name.length);
  return p->phi->name || phi_out_of_memory(p);
}

/* let NAME = expression */
static bool parse_let(phi_parser *p) {
  if (p->lets == PHI_MAX_LETS) return phi_fail(p, &p->token, "at most %d of 'let'", PHI_MAX_LETS);
  phi_let *let = &p->let[p->lets];
  if (!phi_new_name(p, &let->name) || !phi_expect(p, "=")) return false;
  let->value = phi_parse_expression(p, PHI_IN_LET);
  let->uses = p->uses;
  if (!let->value) return false;
  p->lets++;
  return true;
}

/* The relation that the token is; false if it is none that may stand there. */
static bool relation_of(const phi_token *token, phi_place place, phi_relation *relation) {
  static const char *const sign[] = {"<", "<=", ">", ">=", "="};
  for (int i = 0; i < (place == PHI_IN_CONJUGATE ? 5 : 4); i++)
    if (phi_token_is(token, sign[i])) {
      *relation = (phi_relation)i;
      return true;
    }
  return false;
}

static const expression *parse_side(phi_parser *p, phi_place place) {
  p->in_condition = true;
  const expression *side = phi_parse_expression(p, place);
  p->in_condition = false;
  return side;
}

/* side relation side { relation side }: 0 <= y <= 1 is two conditions */
static bool parse_comparison(phi_parser *p, phi_place place, phi_section *section) {
  const expression *left = parse_side(p, place);
  phi_relation relation;
  if (!left) return false;
  if (!relation_of(&p->token, place, &relation))
    return phi_fail(p, &p->token,
                    place == PHI_IN_CONJUGATE ? "'<', '<=', '=', '>' or '>='"
                                              : "'<', '<=', '>' or '>='");
  do {
    if (section->conditions == PHI_MAX_CONDITIONS)
      return phi_fail(p, &p->token, "at most %d comparisons", PHI_MAX_CONDITIONS);
    phi_advance(p);
    const expression *right = parse_side(p, place);
    if (!right) return false;
    section->condition[section->conditions++] = (phi_condition){relation, left, right};
    left = right;
  } while (relation_of(&p->token, place, &relation));
  return true;
}

static bool parse_conditions(phi_parser *p, const phi_token *at, phi_place place,
                             phi_section *section) {
  section->condition = calloc(PHI_MAX_CONDITIONS, sizeof *section->condition);
  if (!section->condition) return phi_out_of_memory(p);
  do
    if (!parse_comparison(p, place, section)) return false;
  while (phi_accept(p, "and"));
  return phi_number_condition_sums(p, at, section);
}

/* value | gradient | conjugate expression [ where conditions ] */
static bool parse_section(phi_parser *p, phi_place place, phi_section *section) {
  const phi_token word = p->token;
  if (section->expression) return phi_fail(p, &word, "this section once in a file");
  phi_advance(p);
  const expression *e = phi_parse_expression(p, place);
  if (!e) return false;
  section->expression = e;
  if (!phi_number_sums(p, &word, section)) return false;
  return !phi_accept(p, "where") || parse_conditions(p, &word, place, section);
}

static bool parse_statement(phi_parser *p) {
  phi_potential *phi = p->phi;
  if (phi_accept(p, "parameter")) return phi_parse_parameter(p);
  if (phi_accept(p, "let")) return parse_let(p);
  if (phi_token_is(&p->token, "value")) return parse_section(p, PHI_IN_VALUE, &phi->value);
  if (phi_token_is(&p->token, "gradient")) return parse_section(p, PHI_IN_GRADIENT, &phi->gradient);
  if (phi_token_is(&p->token, "conjugate"))
    return parse_section(p, PHI_IN_CONJUGATE, &phi->conjugate);
  return phi_fail(p, &p->token, "'parameter', 'let', 'value', 'gradient' or 'conjugate'");
}

static bool parse_end_of_statement(phi_parser *p) {
  if (p->token.kind == PHI_TOKEN_END) return true;
  if (p->token.kind != PHI_TOKEN_NEWLINE)
    return phi_fail(p, &p->token, "an operator or the end of the line");
  phi_advance(p);
  return true;
}

static bool parse_file(phi_parser *p) {
  phi_advance(p);
  if (!parse_potential(p) || !parse_end_of_statement(p)) return false;
  while (p->token.kind != PHI_TOKEN_END)
    if (!parse_statement(p) || !parse_end_of_statement(p)) return false;
  if (!p->phi->value.expression) return phi_fail(p, &p->token, "a section 'value'");
  return true;
}

phibal_status phi_read(const char *file, const char *text, size_t length, phi_potential **phi) {
  *phi = NULL;
  if (length > PHI_MAX_BYTES)
    return phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: found %zu bytes; expected at most %d", file,
                             length, PHI_MAX_BYTES);
  phi_parser *p = calloc(1, sizeof *p);
  if (p) p->phi = calloc(1, sizeof *p->phi);
  if (p && p->phi) p->phi->pool = expression_pool_create();
  if (!p || !p->phi || !p->phi->pool) {
    if (p) phi_destroy(p->phi);
    free(p);
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", file);
  }
  phi_lexer_init(&p->lexer, file, text, length);
  const phibal_status status = parse_file(p) ? PHIBAL_OK : p->status;
  if (status == PHIBAL_OK)
    *phi = p->phi;
  else
    phi_destroy(p->phi);
  free(p);
  return status;
}

phibal_status phi_read_file(const char *file, phi_potential **phi) {
  *phi = NULL;
  FILE *in = fopen(file, "rb");
  if (!in) return phibal_status_set(PHIBAL_ERROR_IO, "cannot open %s: %s", file, strerror(errno));
  char *text = malloc(PHI_MAX_BYTES + 1);
  if (!text) {
    fclose(in);
    return phibal_status_set(PHIBAL_ERROR_MEMORY, "%s: out of memory", file);
  }
  const size_t length = fread(text, 1, PHI_MAX_BYTES + 1, in);
  const bool broken = ferror(in) != 0;
  phibal_status status = PHIBAL_OK;
  if (broken)
    status = phibal_status_set(PHIBAL_ERROR_IO, "cannot read %s: %s", file, strerror(errno));
  else if (length > PHI_MAX_BYTES)
    status = phibal_status_set(PHIBAL_ERROR_FORMAT, "%s: found more than %d bytes; expected less",
                               file, PHI_MAX_BYTES);
  else
    status = phi_read(file, text, length, phi);
  fclose(in);
  free(text);
  return status;
}
