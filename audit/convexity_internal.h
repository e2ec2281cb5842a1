/* Strict convexity over a box of parameters that may have to be divided. */
#ifndef PHIBAL_AUDIT_CONVEXITY_INTERNAL_H
#define PHIBAL_AUDIT_CONVEXITY_INTERNAL_H

#include "convexity.h"

enum { SEARCH_PIECES = 48 };

typedef enum piece_verdict { PIECE_PROVED, PIECE_REFUTED, PIECE_OPEN } piece_verdict;

typedef struct search_piece {
  piece_verdict verdict;
  audit_domain domain;
} search_piece;

typedef struct convexity_search {
  phi_potential *phi;
  const expression *psi; /* null unless separable */
  const char *names[PHI_MAX_PARAMETERS];
  int least, most;
  double deadline;
  bool divide;           /* a box of parameters that is not settled may be divided */
  convexity_proof proof; /* of the last piece that was tried; or of why the whole failed */
  convexity_proof whole;
  bool all_smooth; /* on all pieces */
  convexity_counterexample counterexample;
  search_piece piece[SEARCH_PIECES]; /* where it was divided: in order of the parameters */
  int pieces;
} convexity_search;

/* Proves, refutes or divides; the verdict on all of `domain`. */
piece_verdict convexity_search_run(convexity_search *s, const audit_domain *domain);
void convexity_search_clear(convexity_search *s);
/* "alpha in (0, 1]; alpha in [3/2, 2)": the pieces of that verdict, those that touch joined. */
void convexity_search_print(FILE *out, const convexity_search *s, piece_verdict verdict);

#endif
