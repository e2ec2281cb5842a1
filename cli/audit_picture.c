#include "audit_picture.h"
#include "gnuplot.h"
#include <math.h>
#include "audit/phi64.h"
#include "audit/simulation.h"
#include <stdlib.h>

enum { POINTS = 241, EXPERTS = 16 };

static const char *const captions[AUDIT_PICTURES] = {
    "φ on the simplex: one of 16 experts holds the share on the axis, the others the rest in equal "
    "parts. Binary64.",
    "Centred price (M3) of that expert. Zero where loads are uniform, at 1/16. Binary64.",
    "Stiffness: the Hessian on the tangent space of the simplex where 16 experts have this load "
    "each; 1/16 is where a balanced router is. Enclosures, drawn as lines.",
    "Stability of the closed loop for 16 experts: below the line a small imbalance dies away. The "
    "line is the linearised limit, the dots are measured in a simulation.",
    "Error of the generated kernel's price over the binary32 loads: the largest bound in each "
    "binade, in ULP.",
};

const char *audit_picture_caption(int i) {
  return captions[i];
}

static void begin(FILE *to, const char *x, const char *y, bool logarithmic) {
  fputs("set terminal svg size 480,320 dynamic font 'sans-serif,12'\nset encoding utf8\n"
        "set grid lc rgb 'gray'\nset key top left\nset format x '10^{%T}'\nset logscale x\n"
        "set border 3\nset xtics nomirror\nset ytics nomirror\n",
        to);
  if (logarithmic) fputs("set logscale y\nset format y '10^{%T}'\n", to);
  fprintf(to, "set xlabel '%s'\nset ylabel '%s'\n", x, y);
}

static void point(FILE *to, double x, double y) {
  if (isfinite(x) && isfinite(y)) fprintf(to, "%.9g %.9g\n", x, y);
}

/* Shares from 2^-20 to 1, close in steps of the same ratio; the last is a little less. */
static double share_at(int i) {
  return fmin(exp2(-20.0 + 20.0 * i / (POINTS - 1)), 1.0 - 0x1p-20);
}

static void slice_point(const audit_report *r, double share, double *value, double *price) {
  double p[PHI_MAX_PARAMETERS], x[EXPERTS], q[EXPERTS], mean = 0.0;
  phi64_parameters(r->phi, r->at, p);
  for (int e = 0; e < EXPERTS; e++) x[e] = e ? (1.0 - share) / (EXPERTS - 1) : share;
  *value = phi64_value(r->phi, p, EXPERTS, x);
  phi64_gradient(r->phi, p, EXPERTS, x, q);
  for (int e = 0; e < EXPERTS; e++) mean += q[e] / EXPERTS;
  *price = q[0] - mean;
}

static void write_slice(FILE *to, const audit_report *r, bool price) {
  begin(to, "share of one expert", price ? "centred price" : "φ", false);
  fputs("set xrange [2**-20:1]\n", to);
  fprintf(to, "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead dt 2 lc rgb 'gray'\n",
          1.0 / EXPERTS, 1.0 / EXPERTS);
  fputs("$d << EOD\n", to);
  for (int i = 0; i < POINTS; i++) {
    double value, centred;
    slice_point(r, share_at(i), &value, &centred);
    point(to, share_at(i), price ? centred : value);
  }
  fputs("EOD\nplot $d using 1:2 with lines lw 2 lc rgb '#2f6fde' notitle\n", to);
}

static void write_stiffness(FILE *to, const audit_report *r) {
  phibal_enclosure c, h;
  phibal_enclosure_init(&c, AUDIT_PRECISION);
  phibal_enclosure_init(&h, AUDIT_PRECISION);
  begin(to, "load", "stiffness", true);
  fprintf(to, "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead dt 2 lc rgb 'gray'\n",
          1.0 / EXPERTS, 1.0 / EXPERTS);
  fputs("$d << EOD\n", to);
  for (int i = 0; i < POINTS; i++) {
    phibal_enclosure_set_d(&c, EXPERTS * share_at(i));
    if (audit_stiffness(r->phi, r->at, EXPERTS, &c, &h) != PHIBAL_OK) continue;
    double lo = mpfr_get_d(h.lo, MPFR_RNDN), hi = mpfr_get_d(h.hi, MPFR_RNDN);
    if (lo > 0.0) point(to, share_at(i), 0.5 * (lo + hi));
  }
  fputs("EOD\nplot $d using 1:2 with lines lw 2 lc rgb '#2f6fde' notitle\n", to);
  phibal_enclosure_clear(&c);
  phibal_enclosure_clear(&h);
}

/* The linearised limit of dynamics.c. */
static double linear_limit(double eta, double stiffness) {
  return 2.0 * (2.0 - eta) * EXPERTS / (eta * stiffness);
}

static void write_stability(FILE *to, const audit_report *r) {
  phibal_enclosure one, h;
  double p[PHI_MAX_PARAMETERS], measured;
  phi64_parameters(r->phi, r->at, p);
  phibal_enclosure_init(&one, AUDIT_PRECISION);
  phibal_enclosure_init(&h, AUDIT_PRECISION);
  phibal_enclosure_set_si(&one, 1);
  double stiffness = NAN;
  if (audit_stiffness(r->phi, r->at, EXPERTS, &one, &h) == PHIBAL_OK)
    stiffness = 0.5 * (mpfr_get_d(h.lo, MPFR_RNDN) + mpfr_get_d(h.hi, MPFR_RNDN));
  begin(to, "eta", "lr alpha", true);
  fputs("set key top right\n$line << EOD\n", to);
  for (int i = 0; i <= 60; i++) {
    double eta = exp10(-2.0 + i / 30.0);
    if (stiffness > 0.0) point(to, eta, linear_limit(eta, stiffness));
  }
  fputs("EOD\n$dots << EOD\n", to);
  for (int i = 0; i <= 12; i++) {
    double eta = fmin(exp10(-2.0 + i / 6.0), 1.0);
    if (stiffness > 0.0 && simulation_limit(r->phi, p, EXPERTS, eta, &measured) == PHIBAL_OK)
      point(to, eta, measured);
  }
  fputs("EOD\nplot $line using 1:2 with filledcurves y=0 fs transparent solid 0.15 noborder "
        "lc rgb '#2f6fde' title 'stable', $line using 1:2 with lines lw 2 lc rgb '#2f6fde' "
        "title 'linearised', $dots using 1:2 with points pt 7 ps 0.7 lc rgb '#d9480f' "
        "title 'simulated'\n",
        to);
  phibal_enclosure_clear(&one);
  phibal_enclosure_clear(&h);
}

/* audit_core says how large the kernel's error bound gets in each binade of loads. */
static const json_t *find_errors(const audit_report *r) {
  for (size_t i = 0; i < r->certificate.findings; i++) {
    const audit_finding *f = &r->certificate.finding[i];
    const json_t *errors = f->data ? json_object_get(f->data, "error_by_binade") : NULL;
    if (f->claim == AUDIT_CORE && json_array_size(errors) > 1) return errors;
  }
  return NULL;
}

static bool write_errors(FILE *to, const audit_report *r) {
  const json_t *errors = find_errors(r);
  size_t i;
  json_t *binade;
  if (!errors) return false;
  begin(to, "binary32 load", "ULP", false);
  fputs("set yrange [0:*]\n$d << EOD\n", to);
  json_array_foreach(errors, i, binade)
      point(to, exp2((double)json_integer_value(json_object_get(binade, "exponent"))),
            json_number_value(json_object_get(binade, "ulp")));
  fputs("EOD\nplot $d using 1:2 with histeps lw 2 lc rgb '#2f6fde' notitle\n", to);
  return true;
}

static bool write_script(FILE *to, const audit_report *r, int i) {
  switch (i) {
  case 0:
  case 1:
    write_slice(to, r, i == 1);
    return true;
  case 2:
    write_stiffness(to, r);
    return true;
  case 3:
    write_stability(to, r);
    return true;
  default:
    return write_errors(to, r);
  }
}

char *audit_picture(const audit_report *r, int i) {
  char *script = NULL;
  size_t size = 0;
  FILE *to = open_memstream(&script, &size);
  if (!to) return NULL;
  bool something = write_script(to, r, i);
  fclose(to);
  char *svg = something && script ? gnuplot_draw(script) : NULL;
  free(script);
  return svg;
}
