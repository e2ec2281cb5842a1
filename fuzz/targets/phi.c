/* A .phi file: refused with one line that names a place, or read; then its expressions as text read
   back as the same trees, and what is true of every member of an interval is true of a point. */
#include "target.h"
#include "audit/phi.h"

enum { PRECISION = 53, MOST_SIZE = 300 };

/* Evaluation is exact in its effort only: 9^9^9^9 ends as infinity, but not for every number at
   once. So large trees are only read. */
static bool is_small(const expression *e) {
  return e->size <= MOST_SIZE;
}

static void require_place(void) {
  int line, column;
  FUZZ_REQUIRE_MESSAGE();
  FUZZ_REQUIRE(sscanf(phibal_status_message(), "input:%d:%d: found", &line, &column) == 2 ||
                   !strncmp(phibal_status_message(), "input: found", 12),
               "%s", phibal_status_message());
  FUZZ_REQUIRE(strstr(phibal_status_message(), "; expected "), "%s", phibal_status_message());
}

static void put_parameters(FILE *to, const phi_potential *phi) {
  for (int i = 0; i < phi->parameters; i++) {
    char ranges[4096];
    phi_ranges_text(&phi->parameter[i], ranges, sizeof ranges);
    gmp_fprintf(to, "parameter %s in (-inf, inf) = %Qd # %s\n", phi->parameter[i].name,
                phi->parameter[i].fallback, ranges);
  }
}

static void put_section(FILE *to, const phi_potential *phi, const char *word,
                        const phi_section *section, const char *variable) {
  const char *names[PHI_MAX_PARAMETERS];
  if (!section->expression) return;
  for (int i = 0; i < phi->parameters; i++) names[i] = phi->parameter[i].name;
  char *text = expression_text(section->expression, names, variable);
  FUZZ_REQUIRE(text, "out of memory");
  fprintf(to, "%s %s\n", word, text);
  free(text);
}

static char *written(const phi_potential *phi) {
  char *text = NULL;
  size_t size;
  FILE *to = open_memstream(&text, &size);
  FUZZ_REQUIRE(to, "out of memory");
  fprintf(to, "potential %s\n", phi->name);
  put_parameters(to, phi);
  put_section(to, phi, "value", &phi->value, "x");
  put_section(to, phi, "gradient", &phi->gradient, "x");
  put_section(to, phi, "conjugate", &phi->conjugate, "y");
  fclose(to);
  return text;
}

static void require_equal(const phi_section *a, const phi_section *b) {
  FUZZ_REQUIRE(!a->expression == !b->expression, "a section is lost");
  if (a->expression) FUZZ_REQUIRE(expression_equal(a->expression, b->expression), "other trees");
}

/* Numbers that the printer writes in full may be longer than those that the reader takes. */
static bool has_long_number(const expression *e) {
  if (e->kind == EXPRESSION_NUMBER)
    return mpz_sizeinbase(mpq_numref(e->number), 10) + mpz_sizeinbase(mpq_denref(e->number), 10) >
           300;
  for (int i = 0; i < expression_arguments(e->kind); i++)
    if (has_long_number(e->argument[i])) return true;
  return false;
}

static bool is_writable(const phi_potential *phi) {
  const expression *const e[] = {phi->value.expression, phi->gradient.expression,
                                 phi->conjugate.expression};
  for (int i = 0; i < 3; i++)
    if (e[i] && (e[i]->depth > PHI_MAX_DEPTH / 2 || has_long_number(e[i]))) return false;
  for (int i = 0; i < phi->parameters; i++)
    if (mpz_sizeinbase(mpq_numref(phi->parameter[i].fallback), 10) > 300 ||
        mpz_sizeinbase(mpq_denref(phi->parameter[i].fallback), 10) > 300)
      return false;
  return true;
}

static void round_trip(const phi_potential *phi) {
  phi_potential *again;
  if (!is_writable(phi)) return;
  char *text = written(phi);
  FUZZ_REQUIRE(!phi_read("input", text, strlen(text), &again), "%s in\n%s", phibal_status_message(),
               text);
  require_equal(&phi->value, &again->value);
  require_equal(&phi->gradient, &again->gradient);
  require_equal(&phi->conjugate, &again->conjugate);
  phi_destroy(again);
  free(text);
}

/* The jet over [1/8, 3/4] holds what the jet at 1/2 holds. */
static void isotone(const expression *e, const phibal_enclosure *parameters) {
  phi_jet wide, narrow;
  phibal_enclosure x;
  phi_jet_init(&wide, PRECISION);
  phi_jet_init(&narrow, PRECISION);
  phibal_enclosure_init(&x, PRECISION);
  phibal_enclosure_set_d(&x, 0.5);
  phi_jet_eval(e, parameters, NULL, &x, &narrow);
  mpfr_set_d(x.lo, 0.125, MPFR_RNDD);
  mpfr_set_d(x.hi, 0.75, MPFR_RNDU);
  phi_jet_eval(e, parameters, NULL, &x, &wide);
  for (int i = 0; i < wide.known; i++) {
    FUZZ_REQUIRE(narrow.known > i, "derivative %d known over the interval only", i);
    FUZZ_REQUIRE(phibal_enclosure_overlaps(&wide.d[i], &narrow.d[i]), "derivative %d", i);
  }
  phi_jet_clear(&wide);
  phi_jet_clear(&narrow);
  phibal_enclosure_clear(&x);
}

static void evaluate(const phi_potential *phi) {
  phibal_enclosure *parameters = phibal_enclosure_vector(PHI_MAX_PARAMETERS, PRECISION);
  FUZZ_REQUIRE(parameters, "out of memory");
  phi_fallbacks(phi, parameters);
  for (int i = 0; i < phi->value.sums; i++)
    if (is_small(phi->value.sum[i])) isotone(phi->value.sum[i], parameters);
  phibal_enclosure_vector_clear(parameters, PHI_MAX_PARAMETERS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  phi_potential *phi;
  const char *text = fuzz_bytes(data, size);
  if (phi_read("input", text, size, &phi)) {
    FUZZ_REQUIRE(!phi, "a potential in spite of a failure");
    require_place();
  } else {
    round_trip(phi);
    evaluate(phi);
    phi_destroy(phi);
  }
  mpfr_free_cache();
  free((void *)text);
  return 0;
}
