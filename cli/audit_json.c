/* A certificate as JSON; its schema is spec/audit-certificate.schema.json. */
#include "audit_json.h"
#include "audit_advice.h"
#include "audit_words.h"
#include "build_features.h"
#include <math.h>
#include <stdlib.h>

/* NaN and infinities have no place in JSON. */
static json_t *number(double x) {
  return isfinite(x) ? json_real(x) : json_null();
}

static json_t *section_json(const phi_potential *phi, const phi_section *section,
                            const char *variable) {
  char *text = audit_section_text(phi, section, variable);
  json_t *string = text ? json_string(text) : json_null();
  free(text);
  return string;
}

static json_t *parameters_json(const audit_report *r) {
  json_t *array = json_array();
  for (int i = 0; i < r->phi->parameters; i++) {
    char *range = audit_range_text(&r->phi->parameter[i]);
    json_t *p = json_object();
    json_object_set_new(p, "name", json_string(r->phi->parameter[i].name));
    json_object_set_new(p, "range", json_string(range ? range : ""));
    json_object_set_new(p, "convexity_for",
                        r->ranges ? json_string("range") : audit_enclosure_json(&r->asked[i]));
    json_object_set_new(p, "at", audit_enclosure_json(&r->at[i]));
    json_array_append_new(array, p);
    free(range);
  }
  return array;
}

static json_t *potential_json(const audit_report *r) {
  json_t *object = json_object();
  json_object_set_new(object, "name", json_string(r->phi->name));
  json_object_set_new(object, "source", json_string(r->builtin ? "built-in" : r->source));
  json_object_set_new(object, "value", section_json(r->phi, &r->phi->value, "x"));
  json_object_set_new(object, "gradient", section_json(r->phi, &r->phi->gradient, "x"));
  json_object_set_new(object, "conjugate", section_json(r->phi, &r->phi->conjugate, "y"));
  json_object_set_new(object, "parameters", parameters_json(r));
  return object;
}

static json_t *findings_json(const certificate *c, audit_claim claim) {
  json_t *array = json_array();
  for (size_t i = 0; i < c->findings; i++) {
    const audit_finding *f = &c->finding[i];
    if (f->claim != claim) continue;
    json_t *object = json_object();
    json_object_set_new(object, "verdict", json_string(audit_verdict_name(f->verdict)));
    json_object_set_new(object, "how", json_string(f->how));
    json_object_set_new(object, "counterexample",
                        f->counterexample ? json_string(f->counterexample) : json_null());
    if (f->data)
      json_object_set(object, "data", f->data);
    else
      json_object_set_new(object, "data", json_null());
    json_array_append_new(array, object);
  }
  return array;
}

static json_t *claims_json(const audit_options *o, const audit_report *r) {
  const certificate *c = &r->certificate;
  json_t *array = json_array();
  for (int i = 0; i < AUDIT_CLAIM_COUNT; i++) {
    audit_claim claim = (audit_claim)i;
    audit_verdict verdict = certificate_verdict(c, claim);
    json_t *object = json_object();
    json_object_set_new(object, "id", json_string(audit_claim_id(claim)));
    json_object_set_new(object, "section", json_string(audit_claim_section(claim)));
    json_object_set_new(object, "claim", json_string(audit_claim_text(claim)));
    json_object_set_new(object, "verdict", json_string(audit_verdict_name(verdict)));
    json_object_set_new(object, "passes", json_boolean(audit_claim_holds(o, r, claim)));
    json_object_set_new(object, "rests_on",
                        json_pack("{s:s, s:s}", "proved", audit_claim_proved(claim), "tested",
                                  audit_claim_tested(claim)));
    json_object_set_new(object, "findings", findings_json(c, claim));
    json_array_append_new(array, object);
  }
  return array;
}

static json_t *dynamics_json(const audit_options *o, const audit_report *r) {
  json_t *array = json_array();
  for (size_t i = 0; i < r->counts; i++) {
    const audit_loop *loop = &r->loop[i];
    json_t *object = audit_dynamics_json(&r->dynamics[i]);
    json_t *simulation = json_object(), *limits = json_array();
    for (int j = 0; j < AUDIT_ETAS; j++)
      json_array_append_new(limits, json_pack("{s:f, s:o}", "eta", audit_eta[j], "lr_alpha",
                                              number(loop->simulated ? loop->limit[j] : NAN)));
    json_object_set_new(simulation, "stable_below", limits);
    json_object_set_new(simulation, "eta", json_real(o->eta));
    json_object_set_new(simulation, "alpha", json_real(o->alpha));
    json_object_set_new(simulation, "lr", json_real(o->lr));
    json_object_set_new(simulation, "settled_after",
                        loop->settled < 0 ? json_null() : json_integer(loop->settled));
    json_object_set_new(simulation, "least_share_on_the_way", number(loop->least));
    json_object_set_new(object, "simulation", simulation);
    json_array_append_new(array, object);
  }
  return array;
}

static json_t *seconds_json(const audit_options *o, const audit_report *r) {
  json_t *object = json_object();
  for (int i = 0; i < AUDIT_PART_COUNT; i++)
    json_object_set_new(object, audit_part_names[i],
                        o->skip[i] ? json_null() : json_real(r->seconds[i]));
  return object;
}

/* A text that is freed. */
static json_t *string_of(char *text) {
  json_t *string = json_string(text ? text : "");
  free(text);
  return string;
}

static json_t *check_json(const audit_options *o, const audit_report *r) {
  return json_pack("{s:s, s:b, s:o}", "takes", o->check_quick ? "a sample" : "every load", "passes",
                   audit_passes(o, r), "why", string_of(audit_check_line(o, r)));
}

json_t *audit_report_json(const audit_options *o, const audit_report *r) {
  json_t *object = json_object();
  if (!object) return NULL;
  json_object_set_new(object, "certificate", json_string("phibal-audit/1"));
  json_object_set_new(object, "phibal", json_string(PHIBAL_VERSION));
  json_object_set_new(object, "date", string_of(audit_date_text()));
  json_object_set_new(object, "options", string_of(audit_options_text(o)));
  json_object_set_new(object, "verdict", string_of(audit_verdict_line(o, r)));
  json_object_set_new(object, "potential", potential_json(r));
  json_object_set_new(
      object, "experts",
      json_pack("{s:i, s:i}", "least", (int)o->least_experts, "most", (int)o->most_experts));
  json_object_set_new(object, "quick", json_boolean(o->quick));
  json_object_set_new(object, "seed", json_integer((json_int_t)o->seed));
  json_object_set_new(object, "coverage", number(audit_coverage(r)));
  json_object_set_new(object, "claims", claims_json(o, r));
  json_object_set_new(object, "passes", json_boolean(audit_passes(o, r)));
  json_object_set_new(object, "check", check_json(o, r));
  audit_advice advice;
  audit_advise(o, r, &advice);
  json_object_set_new(object, "advice", audit_advice_json(&advice));
  audit_advice_clear(&advice);
  json_object_set_new(object, "dynamics", dynamics_json(o, r));
  json_object_set_new(object, "seconds", seconds_json(o, r));
  return object;
}
