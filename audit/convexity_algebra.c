/* Strict convexity on the simplex by exact algebra.

   Separable, phi = sum_e psi(x_e): strictly convex where psi'' > 0 on (0,1); and where psi'' >= 0
   with isolated zeros, for then psi' is strictly increasing all the same.

   Negative curvature beyond 1/2 may be outweighed, as at most one share is there. For two experts
   phi is psi(x) + psi(1 - x), so psi''(x) + psi''(1 - x) > 0 on (0, 1/2] suffices. For more, let
   also psi'' > 0 and x psi''(x) not increase on (0, 1/2]. With x_1 = x > 1/2 and psi''(x) <= 0, the
   others y_e <= 1 - x sum to 1 - x, so that by Cauchy and Schwarz, w_1 = -sum_{e>1} w_e,

     w_1^2 <= sum_e 1/psi''(y_e) sum_e psi''(y_e) w_e^2,
     sum_e 1/psi''(y_e) = sum_e y_e/(y_e psi''(y_e)) <= sum_e y_e/((1 - x) psi''(1 - x))
                        = 1/psi''(1 - x),

   and the Hessian is at least (psi''(x) + psi''(1 - x)) w_1^2.

   phi = F(S_1, .., S_r), S_i = sum_e f_i(x_e). On the simplex sum_e x_e = 1, so sums of affine f_i
   are constants: S_i = a + b E for f_i = a x + b. For the others, with w tangent (sum_e w_e = 0),

     Hessian(w, w) = sum_e D_e w_e^2 + sum_ij F_ij (v_i.w)(v_j.w),
     D_e = sum_i F_i f_i''(x_e),  v_i = (f_i'(x_e))_e.

   Let D_e > 0 for all e. If (F_ij) is positive semidefinite, this is positive for w != 0. If
   (F_ij) is diagonal, with c_i = max(-F_ii, 0), then by Cauchy and Schwarz

     sum_i c_i (v_i.w)^2 <= sum_i c_i sum_e (v_ie^2/D_e) sum_e D_e w_e^2 = sum_e h_e sum_e D_e w_e^2

   with h = sum_i c_i v_i^2/D; so the Hessian is positive where sum_e h_e < 1. This follows from
   h_e <= l_e for weights l with sum_e l_e = 1: l = x_e, or l = f_k(x_e)/S_k. If h_e < l_e for all
   e, it is strict. If only h_e <= l_e, equality in Cauchy and Schwarz needs w proportional to v_i/D
   for an i with c_i > 0, and such a w is not tangent where f_i' has one sign and no zero: its
   entries then sum to something other than 0. Last, h = l with r = 1 says that v/D is in the
   kernel of the Hessian everywhere. */
#include "convexity.h"
#include "hessian_algebra.h"
#include <stdlib.h>

static void take(symbolic *s, convexity_proof *proof, const char *what, const quotient *d,
                 const char *argument, const char *after) {
  char *text = symbolic_text(s, d);
  audit_say(&proof->how, "%s = %s%s%s%s", what, text ? text : "?", after, argument ? ": " : "",
            argument ? argument : "");
  free(text);
}

static const quotient *second_derivative(symbolic *s, const quotient *a) {
  return symbolic_derivative(s, symbolic_derivative(s, a));
}

/* The argument for a psi'' that is not positive everywhere beyond 1/2. */
static void beyond_a_half(const expression *psi, const audit_domain *domain,
                          convexity_proof *proof) {
  audit_domain lower;
  domain_init(&lower);
  domain_copy(&lower, domain);
  domain_end_at(&lower.x.hi, 1, 2, true);
  symbolic *s = symbolic_create(&lower);
  domain_clear(&lower);
  if (!s) return;
  const quotient *x = symbolic_variable(s),
                 *other = symbolic_subtract(s, symbolic_integer(s, 1), x),
                 *here = second_derivative(s, symbolic_read(s, psi, NULL)),
                 *there = second_derivative(s, symbolic_read_at(s, psi, other, NULL));
  bool two = !domain->experts.hi.infinite && mpq_cmp_ui(domain->experts.hi.value, 2, 1) == 0;
  bool pairs = symbolic_sign(s, symbolic_add(s, here, there)) == SIGN_POSITIVE;
  const quotient *fall = symbolic_derivative(s, symbolic_multiply(s, x, here));
  if (pairs && (two || (symbolic_sign(s, here) == SIGN_POSITIVE && fall &&
                        !(symbolic_sign(s, fall) & SIGN_POSITIVE)))) {
    proof->strict = proof->open_only = true;
    audit_say(&proof->how,
              two ? "psi''(x) + psi''(1 - x) > 0 on (0, 1/2], for two experts"
                  : "on (0, 1/2] psi'' > 0, x psi''(x) does not increase, and psi''(x) + "
                    "psi''(1 - x) > 0: one share beyond 1/2 is outweighed by the others");
  }
  symbolic_destroy(s);
}

static void separable(symbolic *s, const expression *psi, const audit_domain *domain,
                      convexity_proof *proof) {
  const quotient *value = symbolic_read(s, psi, NULL);
  if (!value) {
    audit_say(&proof->how, "exact algebra ends at %s", symbolic_reason(s));
    return;
  }
  proof->analytic = proof->smooth = true;
  const quotient *second = second_derivative(s, value);
  if (!second) {
    audit_say(&proof->how, "exact algebra ends at %s", symbolic_reason(s));
    return;
  }
  char *argument;
  unsigned sign = symbolic_sign_argument(s, second, &argument);
  if (symbolic_is_zero(s, second)) {
    proof->constant = true;
    audit_say(&proof->how, "psi'' is identically 0: phi is constant on the simplex");
  } else if (sign == SIGN_POSITIVE) {
    proof->strict = true;
    take(s, proof, "psi''", second, argument, " is positive");
  } else if (!(sign & SIGN_NEGATIVE) && symbolic_zeros_isolated(s, second)) {
    proof->strict = true;
    take(s, proof, "psi''", second, argument,
         " is nowhere negative and its zeros, those of an analytic function that is not constant, "
         "are isolated, so that psi' increases strictly");
  } else {
    take(s, proof, "psi''", second, NULL, " has no sign that exact algebra can prove");
    if (mpq_sgn(domain->x.lo.value) == 0 && mpq_cmp_ui(domain->x.hi.value, 1, 1) == 0)
      beyond_a_half(psi, domain, proof);
  }
  free(argument);
}

typedef struct sums {
  int n;                    /* that are not constant on the simplex */
  int number[PHI_MAX_SUMS]; /* of those */
  const quotient *f[PHI_MAX_SUMS], *slope[PHI_MAX_SUMS], *curvature[PHI_MAX_SUMS];
  const quotient *value[PHI_MAX_SUMS]; /* S_i for all: an atom, or the constant */
} sums;

/* Above (below) 0, and above (below) 1 = sum_e x_e where f is above (below) x. */
static void bound_sum(symbolic *s, const quotient *f, phi_range *range) {
  domain_end_infinite(&range->lo, -1);
  domain_end_infinite(&range->hi, 1);
  unsigned sign = symbolic_sign(s, f),
           gap = symbolic_sign(s, symbolic_subtract(s, f, symbolic_variable(s)));
  if (sign == SIGN_POSITIVE) domain_end_at(&range->lo, 0, 1, false);
  if (sign == SIGN_NEGATIVE) domain_end_at(&range->hi, 0, 1, false);
  if (gap == SIGN_POSITIVE) domain_end_at(&range->lo, 1, 1, false);
  if (gap == SIGN_NEGATIVE && sign != SIGN_NEGATIVE) domain_end_at(&range->hi, 1, 1, false);
}

static bool read_sums(symbolic *s, const phi_section *section, sums *q) {
  phi_range range;
  domain_range_init(&range);
  q->n = 0;
  bool good = true;
  for (int i = 0; good && i < section->sums; i++) {
    const quotient *f = symbolic_read(s, section->sum[i], NULL), *slope = symbolic_derivative(s, f),
                   *curvature = symbolic_derivative(s, slope);
    if (!f || !curvature) {
      good = false;
    } else if (symbolic_is_zero(s, curvature)) { /* f = slope x + rest */
      const quotient *rest =
          symbolic_subtract(s, f, symbolic_multiply(s, slope, symbolic_variable(s)));
      q->value[i] = symbolic_add(s, slope, symbolic_multiply(s, symbolic_experts(s), rest));
      good = q->value[i] && !symbolic_holds_variable(s, q->value[i]);
    } else {
      bound_sum(s, f, &range);
      q->value[i] = symbolic_sum(s, i, &range);
      q->number[q->n] = i;
      q->f[q->n] = f;
      q->slope[q->n] = slope;
      q->curvature[q->n] = curvature;
      good = q->value[i] != NULL;
      q->n++;
    }
  }
  domain_range_clear(&range);
  return good;
}

/* gap = l - h for the weights l number k: x, then f_k/S_k. */
static const quotient *weight_gap(symbolic *s, const sums *q, const quotient *h, int k) {
  if (k == 0) return symbolic_subtract(s, symbolic_variable(s), h);
  const quotient *sum = q->value[q->number[k - 1]];
  unsigned sign = symbolic_sign(s, sum);
  if (sign != SIGN_POSITIVE && sign != SIGN_NEGATIVE) return NULL;
  return symbolic_subtract(s, symbolic_divide(s, q->f[k - 1], sum), h);
}

/* all: no sum is constant, so that what is found holds off the simplex too. */
static void by_weights(symbolic *s, const sums *q, const hessian *h, const char *diagonal, bool all,
                       convexity_proof *proof) {
  bool never_equal; /* Cauchy-Schwarz is no equality for a tangent w */
  const quotient *weight = hessian_weight(s, h, &never_equal);
  for (int k = 0; weight && k <= q->n && !proof->strict; k++) {
    const quotient *gap = weight_gap(s, q, weight, k);
    unsigned sign = gap ? symbolic_sign(s, gap) : SIGN_ANY;
    if (sign & SIGN_NEGATIVE) continue;
    if ((sign & SIGN_ZERO) && !never_equal) continue;
    proof->strict = true;
    bool equal = symbolic_is_zero(s, gap);
    proof->singular = q->n == 1 && k > 0 && all && equal;
    char *text = symbolic_text(s, weight);
    char by[48] = "x_e";
    if (k) snprintf(by, sizeof by, "f_%d(x_e)/S_%d", q->number[k - 1] + 1, q->number[k - 1] + 1);
    audit_say(
        &proof->how,
        "the Hessian is diag(D) - C with D = %s > 0; by Cauchy and Schwarz C(w,w) <= sum_e(h_e) "
        "D(w,w), h = %s, and h_e %s %s, which sum to 1; %s",
        diagonal, text ? text : "?",
        equal              ? "="
        : sign & SIGN_ZERO ? "<="
                           : "<",
        by,
        sign & SIGN_ZERO ? "equality would need a direction with entries of one sign, and those "
                           "of the simplex sum to 0"
                         : "so it is positive");
    free(text);
  }
}

static void not_separable(symbolic *s, const phi_section *section, convexity_proof *proof) {
  sums q;
  hessian h;
  if (!read_sums(s, section, &q) || !hessian_read(s, symbolic_read(s, section->expression, q.value),
                                                  q.n, q.number, q.slope, q.curvature, &h)) {
    audit_say(&proof->how, "exact algebra ends at %s", symbolic_reason(s));
    return;
  }
  proof->analytic = proof->smooth = true;
  if (q.n == 0) {
    proof->constant = true;
    audit_say(&proof->how, "every sum is constant on the simplex, and with them phi");
    return;
  }
  char *diagonal = symbolic_text(s, h.diagonal), *argument;
  unsigned sign = symbolic_sign_argument(s, h.diagonal, &argument);
  const char *text = diagonal ? diagonal : "?";
  if (sign != SIGN_POSITIVE) {
    audit_say(&proof->how, "the Hessian's diagonal part %s is not proved positive", text);
  } else if (hessian_outer_semidefinite(s, &h)) {
    proof->strict = true;
    audit_say(&proof->how,
              "the Hessian is diag(D) + sum_ij F_ij v_i v_j' with D = %s > 0 (%s), and (F_ij) "
              "is positive semidefinite",
              text, argument ? argument : "");
  } else {
    by_weights(s, &q, &h, text, q.n == section->sums, proof);
    if (!proof->strict)
      audit_say(&proof->how,
                "the Hessian is diag(D) with D = %s > 0, and a part that is not proved "
                "to leave it positive",
                text);
  }
  free(diagonal);
  free(argument);
}

void convexity_by_algebra(const phi_potential *phi, const expression *psi,
                          const audit_domain *domain, convexity_proof *proof) {
  *proof = (convexity_proof){.boxes = 0};
  symbolic *s = symbolic_create(domain);
  if (!s) return;
  if (!symbolic_conditions(s, &phi->value))
    audit_say(&proof->how, "the value's condition is not proved to hold on the simplex");
  else if (psi)
    separable(s, psi, domain, proof);
  else
    not_separable(s, &phi->value, proof);
  symbolic_destroy(s);
}
