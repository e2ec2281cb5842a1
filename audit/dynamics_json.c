/* Dynamics for machines. */
#include "dynamics.h"
#include <stdio.h>

enum { DIGITS = 15 };

json_t *audit_enclosure_json(const phibal_enclosure *x) {
  char lo[PHIBAL_DECIMAL_SIZE(DIGITS)], hi[PHIBAL_DECIMAL_SIZE(DIGITS)];
  if (phibal_enclosure_get_decimal(x, DIGITS, lo, hi, sizeof lo) != PHIBAL_OK) return NULL;
  return json_pack("{s:s, s:s}", "lo", lo, "hi", hi);
}

/* The enclosure, or null where it holds nothing. */
static json_t *when(bool exists, const phibal_enclosure *x) {
  return exists ? audit_enclosure_json(x) : json_null();
}

static json_t *price_json(const audit_price *p) {
  json_t *object = json_object();
  json_object_set_new(object, "price", when(p->exists, &p->value));
  json_object_set_new(object, "at_smallest_load", json_boolean(p->floored));
  return object;
}

static json_t *shares_json(const audit_dynamics *d) {
  json_t *array = json_array();
  for (int i = 0; i < AUDIT_SHARES; i++) {
    json_t *object = price_json(&d->share[i]);
    char share[16];
    snprintf(share, sizeof share, audit_share[i][1] == 1 ? "%d" : "%d/%d", audit_share[i][0],
             audit_share[i][1]);
    json_object_set_new(object, "share", json_string(share));
    json_array_append_new(array, object);
  }
  return array;
}

static json_t *scales_json(const audit_dynamics *d) {
  json_t *array = json_array();
  for (int i = 0; i < d->scales; i++)
    json_array_append_new(array, audit_enclosure_json(&d->scale[i]));
  return array;
}

static json_t *limits_json(const audit_dynamics *d) {
  json_t *array = json_array();
  for (int i = 0; i < AUDIT_ETAS; i++)
    json_array_append_new(array, json_pack("{s:f, s:o, s:o}", "eta", audit_eta[i], "stable_below",
                                           when(d->stiff, &d->stable[i]), "overshoots_above",
                                           when(d->stiff, &d->overshoots[i])));
  return array;
}

json_t *audit_dynamics_json(const audit_dynamics *d) {
  json_t *object = json_object();
  json_object_set_new(object, "experts", json_integer(d->experts));
  json_object_set_new(object, "stiffness", when(d->known, &d->stiffness));
  json_object_set_new(object, "effective_per_alpha", when(d->known, &d->effective));
  json_object_set_new(object, "alpha_equal_to_negentropy", when(d->stiff, &d->equal_negentropy));
  json_object_set_new(object, "alpha_equal_to_switch", when(d->stiff, &d->equal_switch));
  json_object_set_new(object, "centred_price_at_share", shares_json(d));
  json_object_set_new(object, "price_of_the_only_expert", price_json(&d->full));
  json_object_set_new(object, "price_of_an_empty_expert_beside_it", price_json(&d->empty));
  json_object_set_new(object, "force_at_scale_2_to_minus_i", scales_json(d));
  json_object_set_new(object, "force_goes_as_power",
                      when(d->scales == AUDIT_SCALES, &d->scale_power));
  json_object_set_new(object, "lr_alpha", limits_json(d));
  return object;
}
