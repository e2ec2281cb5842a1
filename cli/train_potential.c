/* Potentials from files, for `phibal train`. */
#include "train_potential.h"
#include <stdio.h>

#if PHIBAL_HAVE_REFERENCE
#include "formats/file.h"
#include "moe/train/run_folder.h"
#include "audit/audit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PRECISION = 192, AUDIT_SECONDS = 20 };

/* The file's defaults, and over them what the run says: by name, exactly, or as the value of the
   only one, which is a binary64 number. */
static phibal_status set_parameters(const phi_potential *phi, const run_config *config,
                                    const char *name, phibal_enclosure *parameters) {
  const char *file = config->potential_file;
  phi_fallbacks(phi, parameters);
  const double value = config->balance.potential.parameter;
  if (name && (phi->parameters != 1 || strcmp(phi->parameter[0].name, name)))
    return phibal_status_set(
        PHIBAL_ERROR_ARGUMENT,
        "'%s' does not have '%s' as its only parameter, as --%s requires; use --param NAME=VALUE",
        file, name, name);
  if (!isnan(value) && phi->parameters != 1)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT,
                             "'%s' has %d parameters, but balance.parameter is for a single one; "
                             "set them with --param NAME=VALUE (balance.parameters)",
                             file, phi->parameters);
  if (!isnan(value)) phibal_enclosure_set_d(&parameters[0], value);
  char list[CONFIG_TEXT_MAX];
  memcpy(list, config->parameters, sizeof list);
  char *rest = list;
  for (char *one; *list && (one = strsep(&rest, ",")) != NULL;) {
    int which;
    if (phi_read_parameter(phi, one, false, parameters, &which))
      return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "'%s': --param %s: %s", file, one,
                               phibal_status_message());
  }
  phibal_status status = phi_check_parameters(phi, parameters);
  return status ? phibal_status_set(status, "'%s': %s", file, phibal_status_message()) : PHIBAL_OK;
}

static phibal_status refuse(const run_config *config, const audit_finding *f, bool force,
                            FILE *words) {
  const char *file = config->potential_file, *claim = audit_claim_text(f->claim);
  if (!force)
    return phibal_status_set(PHIBAL_ERROR_ARGUMENT, "'%s': refuted: %s (--force trains anyway): %s",
                             file, claim, f->counterexample ? f->counterexample : f->how);
  if (words)
    fprintf(words, "phibal train: '%s': refuted: %s; trained anyway because of --force\n", file,
            claim);
  return PHIBAL_OK;
}

/* Looks at the claims that training rests on. */
static phibal_status judge(const run_config *config, const certificate *c, bool force,
                           FILE *words) {
  for (size_t i = 0; i < c->findings; i++) {
    const audit_finding *f = &c->finding[i];
    if (f->claim != AUDIT_CONVEX && f->claim != AUDIT_GRADIENT) continue;
    phibal_status status =
        f->verdict == AUDIT_REFUTED ? refuse(config, f, force, words) : PHIBAL_OK;
    if (status) return status;
  }
  if (words && certificate_verdict(c, AUDIT_CONVEX) == AUDIT_UNDECIDED)
    fprintf(words, "phibal train: whether %s is strictly convex is undecided\n",
            config->potential_file);
  return PHIBAL_OK;
}

static phibal_status audit(phi_potential *phi, const phibal_enclosure *parameters,
                           const run_config *config, bool force, FILE *words) {
  const int32_t experts = config->model.experts < 2 ? 2 : config->model.experts;
  const audit_request request = {.parameters = parameters,
                                 .least_experts = experts,
                                 .most_experts = experts,
                                 .quick = true,
                                 .seed = 1,
                                 .seconds = AUDIT_SECONDS};
  certificate c = {0};
  phibal_status status = audit_convexity(phi, &request, &c);
  if (!status) status = audit_gradient(phi, &request, &c);
  if (!status) status = judge(config, &c, force, words);
  certificate_clear(&c);
  return status;
}

static phibal_status load(phi_potential *phi, const phibal_enclosure *parameters,
                          train_potential *to) {
  char *source;
  phibal_status status = codegen_source(phi, parameters, &source);
  if (status) return status;
  status = codegen_load_source(source, &to->kernel);
  if (!status) {
    snprintf(to->prices.name, sizeof to->prices.name, "%s", phi->name);
    to->prices.hash = codegen_hash(source);
    to->prices.price = to->kernel.price;
    to->prices.price_centred = to->kernel.price_centred;
  }
  free(source);
  return status;
}

/* The run's copy, where it has one: what it trains with, whatever has become of the file. */
static phibal_status read_source(const char *file, const char *run, FILE *words,
                                 phi_potential **phi, char **source) {
  text_buffer text = {0}, original = {0};
  char *copy = run ? string_format("%s/%s", run, RUN_FOLDER_POTENTIAL) : NULL;
  const bool kept = copy && folder_has(run, RUN_FOLDER_POTENTIAL);
  /* Reads it twice, for the errors and limits of the language's own reader. */
  phibal_status status = phi_read_file(kept ? copy : file, phi);
  if (!status) status = file_read_all(kept ? copy : file, &text);
  if (!status && words && kept && !file_read_all(file, &original) &&
      (original.count != text.count || memcmp(original.bytes, text.bytes, text.count)))
    fprintf(
        words,
        "phibal train: '%s' has changed since the run began; it continues with its own copy, %s\n",
        file, copy);
  text_buffer_free(&original);
  if (!status) *source = strndup(text.bytes, text.count);
  if (!status && !*source)
    status = phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for a potential");
  text_buffer_free(&text);
  free(copy);
  return status;
}

phibal_status train_potential_load(run_config *config, const char *run, const char *parameter,
                                   bool force, FILE *words, train_potential *to) {
  *to = (train_potential){0};
  phi_potential *phi = NULL;
  phibal_status status = read_source(config->potential_file, run, words, &phi, &to->source);
  if (status) {
    phi_destroy(phi);
    return status;
  }
  to->prices.source = to->source;
  phibal_enclosure *parameters = phibal_enclosure_vector(PHI_MAX_PARAMETERS, PRECISION);
  if (!parameters) status = phibal_status_set(PHIBAL_ERROR_MEMORY, "out of memory for a potential");
  if (!status) status = set_parameters(phi, config, parameter, parameters);
  if (!status) status = audit(phi, parameters, config, force, words);
  if (!status) status = load(phi, parameters, to);
  if (!status) config->balance.external = &to->prices;
  phibal_enclosure_vector_clear(parameters, PHI_MAX_PARAMETERS);
  phi_destroy(phi);
  if (status) train_potential_close(to);
  return status;
}

void train_potential_close(train_potential *potential) {
  codegen_close(&potential->kernel);
  free(potential->source);
  *potential = (train_potential){0};
}

#else

phibal_status train_potential_load(run_config *config, const char *run, const char *parameter,
                                   bool force, FILE *words, train_potential *potential) {
  (void)words;
  (void)run;
  (void)parameter;
  (void)force;
  *potential = (train_potential){0};
  return phibal_status_set(PHIBAL_ERROR_UNSUPPORTED,
                           "'%s': a potential from a file is audited first, and this build has no "
                           "MPFR; use a built-in one",
                           config->potential_file);
}

void train_potential_close(train_potential *potential) {
  (void)potential;
}

#endif
