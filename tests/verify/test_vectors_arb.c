/* Golden vectors beside a second oracle: every expected value and bound, computed again with Arb
   straight from the equations of spec/SPEC.md, for the sets in spec/vectors and for new ones. What
   disagrees is printed. Which wrong vectors would pass? Those of `permutation`'s rows and of
   `loss-free`, integers and one rounding, which Arb has nothing to say about. */
#include "verify/vectors.h"
#include "vectors_arb_checks.h"
#include <criterion/criterion.h>
#include "formats/file.h"

enum { NEW_CASES = 40 };

/* Functions of one number, where the argument is finite and in the domain. */
static void check_core(vector_case *c) {
  const safetensors_tensor *x = vector_in(c, "x");
  const char *f = c->operation;
  arb_t y;
  arb_init(y);
  for (int64_t i = 0; i < x->elements; i++) {
    double at = vector_real(x, i);
    bool log_like = !strcmp(f, "log") || !strcmp(f, "log1p");
    if (!isfinite(at) || (log_like && at <= (f[3] ? -1 : 0))) continue;
    arb_set_d(y, at);
    if (!strcmp(f, "exp"))
      arb_exp(y, y, ARB_BITS);
    else if (!strcmp(f, "expm1"))
      arb_expm1(y, y, ARB_BITS);
    else if (!strcmp(f, "log"))
      arb_log(y, y, ARB_BITS);
    else if (!strcmp(f, "log1p"))
      arb_log1p(y, y, ARB_BITS);
    else if (!strcmp(f, "tanh"))
      arb_tanh(y, y, ARB_BITS);
    else if (!strcmp(f, "sqrt-softplus")) { /* sqrt(max(x, 0) + log(1 + e^-|x|)) */
      arb_set_d(y, -fabs(at));
      arb_exp(y, y, ARB_BITS);
      arb_log1p(y, y, ARB_BITS);
      if (at > 0) {
        arb_t top;
        arb_init(top);
        arb_set_d(top, at);
        arb_add(y, y, top, ARB_BITS);
        arb_clear(top);
      }
      arb_sqrt(y, y, ARB_BITS);
    } else { /* 1 / (1 + e^-x) */
      arb_neg(y, y);
      arb_exp(y, y, ARB_BITS);
      arb_add_ui(y, y, 1, ARB_BITS);
      arb_inv(y, y, ARB_BITS);
    }
    vector_check(c, "value", i, y, NULL);
  }
  arb_clear(y);
}

static const struct {
  const char *operation;
  void (*check)(vector_case *c);
} checks[] = {
    {"exp", check_core},
    {"expm1", check_core},
    {"log", check_core},
    {"log1p", check_core},
    {"tanh", check_core},
    {"sigmoid", check_core},
    {"sqrt-softplus", check_core},
    {"router-forward", check_router_forward},
    {"router-backward", check_router_backward},
    {"loads", check_loads_alone},
    {"frequencies", check_frequencies},
    {"ema", check_ema},
    {"price", check_price},
    {"balance-loss", check_losses},
    {"switch-loss", check_losses},
    {"sequence-loss", check_sequence_loss},
    {"z-loss", check_z_loss},
    {"balance-step", check_step},
    {"switch-step", check_step},
    {"permutation", check_permutation},
    {"expert-ffn", check_expert_ffn},
    {"combine", check_combine},
    {"metrics", check_metrics},
};

static void check_file(const char *path) {
  safetensors_file file;
  cr_assert_eq(safetensors_open(path, &file), PHIBAL_OK, "%s", phibal_status_message());
  char *manifest_path = vectors_manifest_path(path);
  json_t *manifest = json_load_file(manifest_path, 0, NULL), *json;
  cr_assert_not_null(manifest, "%s", manifest_path);
  long compared = 0, disagreements = 0;
  size_t i;
  json_array_foreach(json_object_get(manifest, "cases"), i, json) {
    vector_case c = {.file = &file,
                     .manifest = manifest,
                     .json = json,
                     .prefix = json_string_value(json_object_get(json, "prefix")),
                     .operation = json_string_value(json_object_get(json, "operation"))};
    for (size_t k = 0; k < sizeof checks / sizeof *checks; k++)
      if (!strcmp(checks[k].operation, c.operation)) checks[k].check(&c);
    compared += c.compared;
    disagreements += c.disagreements;
  }
  printf("%s: %ld elements beside Arb, %ld disagreements\n", path, compared, disagreements);
  cr_expect_eq(disagreements, 0, "%s: %ld", path, disagreements);
  cr_expect(compared > 0, "%s: nothing was compared", path);
  json_decref(manifest);
  free(manifest_path);
  safetensors_close(&file);
}

Test(vectors_arb, committed, .timeout = 280) {
  static const char *const sets[] = {"ema", "frequencies", "metrics", "price"};
  for (int i = 0; i < 4; i++) {
    char path[300];
    snprintf(path, sizeof path, PHIBAL_SOURCE_DIR "/spec/vectors/%s.safetensors", sets[i]);
    check_file(path);
  }
}

Test(vectors_arb, new, .timeout = 280) {
  char folder[] = "/tmp/phibal-vectors-arb-XXXXXX", path[80];
  cr_assert_not_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/cases.safetensors", folder);
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
    const operation *o = operation_find(checks[i].operation);
    cr_assert_not_null(o, "%s", checks[i].operation);
    bool core = !strcmp(o->family, "core");
    vectors_request request = {
        .operations = &o, .count = 1, .seed = 5, .cases = core ? 16 : NEW_CASES};
    cr_assert_eq(vectors_write(&request, path), PHIBAL_OK, "%s", phibal_status_message());
    printf("%s: ", o->name);
    check_file(path);
  }
  folder_remove(folder);
}
