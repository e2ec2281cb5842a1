/* What the static functions of reference/mirror_search.c promise. */
#ifndef PHIBAL_ACSL_CONTRACTS_INSIDE_MIRROR_SEARCH_STATIC_H
#define PHIBAL_ACSL_CONTRACTS_INSIDE_MIRROR_SEARCH_STATIC_H

/*@ axiomatic BracketShape {
      // the bracket is apart from a probe and all that it reads and writes
      predicate nowhere(bracket *b, step_probe *p, phibal_reference_potential *phi, integer n,
   phibal_enclosure *target, phibal_enclosure *direction, phibal_enclosure *point, phibal_enclosure
   *image, phibal_enclosure *start); axiom nowhere_is: \forall bracket *b, step_probe *p,
   phibal_reference_potential *phi, integer n, phibal_enclosure *target, *direction, *point, *image,
   *start; nowhere(b, p, phi, n, target, direction, point, image, start) <==> \separated(b, p) &&
   \separated(b, phi) && \separated(b, start) && \separated(b, point + (0 .. n - 1)) &&
   \separated(b, image + (0 .. n - 1)) && \separated(b, target + (0 .. n - 1)) && (direction !=
   \null ==> \separated(b, direction + (0 .. n - 1)));
    }
    predicate bracket_ready{L}(bracket *b) =
      \valid(b) && minitialised(b->lo[0].number) && minitialised(b->hi[0].number) &&
      minitialised(b->middle[0].number) && minitialised(b->inner[0].number) &&
      minitialised(b->below[0].number) && minitialised(b->above[0].number) &&
      minitialised(b->residual[0].number) && minitialised(b->uncertain[0].number);
    predicate bracket_apart{L}(bracket *b, step_probe *p) =
      nowhere(b, p, p->phi, p->n, p->target, p->direction, p->point, p->image, p->start);
    predicate search_ready{L}(bracket *b, step_probe *p) =
      bracket_ready(b) && probe_vectors(p) && probe_separated(p) && bracket_apart(b, p) &&
      input(p->start) && probe_writes_apart(p, p->start);
    predicate only_bracket_written{A, B}(bracket *b) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, b) ==> same{A, B}(r);
    // of enclosures, none but the probe's point and image was written between A and B
    predicate only_search_written{A, B}(bracket *b, step_probe *p) =
      \forall phibal_enclosure *r; \valid_read{A}(r) && \separated(r, b) &&
        probe_writes_apart{A}(p, r) ==> same{A, B}(r);
    axiomatic SearchUse {
      predicate use_search;
      axiom search_used: use_search;
      // what the search writes leaves the probe's inputs as they were
      LEMMA inputs_kept_by_search{A, B}: GIVEN(open_shape) \forall bracket *b, step_probe *p;
        probe_vectors{A}(p) && probe_separated{A}(p) && bracket_apart{A}(b, p) &&
        only_search_written{A, B}(b, p) ==> inputs_same{A, B}(p);
      LEMMA temporaries_kept_by_bracket{A, B}: \forall bracket *b, step_probe *p;
        probe_temporaries{A}(p) && bracket_apart{A}(b, p) && only_bracket_written{A, B}(b) ==>
        vector_same{A, B}(\at(p->point, A), \at(p->n, A)) &&
        vector_same{A, B}(\at(p->image, A), \at(p->n, A));
      LEMMA bracket_is_search{A, B}: \forall bracket *b, step_probe *p;
        only_bracket_written{A, B}(b) ==> only_search_written{A, B}(b, p);
      LEMMA probe_is_search{A, B}: \forall bracket *b, step_probe *p;
        only_probe_and_number_written{A, B}(p, \at(&b->residual[0], A)) ==>
        only_search_written{A, B}(b, p);
    }
*/

/*@ requires readable(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures -1 <= \result <= 1; */
static int sign_of(mpfr_srcptr x);

/*@ requires readable(x);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures -4611686018427387903 <= \result <= 4611686018427387903; */
static mpfr_exp_t exponent_of(mpfr_srcptr x);

/*@ requires readable(x) && readable(y);
    terminates \true;
    exits \false;
    assigns \nothing; */
static bool is_larger(mpfr_srcptr x, mpfr_srcptr y);

/*@ requires bracket_ready(b);
    terminates \true;
    exits \false;
    assigns b->residual[0];
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static void forget_residual(bracket *b);

/*@ requires input(start) && readable(q);
    terminates \true;
    exits \false;
    assigns \nothing;
    ensures \result != SEARCH_EQUAL; */
static search_side side_of_start(const phibal_enclosure *start, mpfr_srcptr q);

/*@ requires search_ready(b, p) && readable(q) && \valid(side);
    requires \separated(q, &b->residual[0]) && probe_apart(p, q) && \separated(side, q);
    requires \separated(side, b) && \separated(side, p) && \separated(side, p->phi);
    terminates \true;
    exits \false;
    assigns *side, b->residual[0], p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures search_ready(b, p) && probe_same{Pre, Here}(p);
    ensures only_search_written{Pre, Here}(b, p);
    ensures \result == PHIBAL_OK && *side == SEARCH_BELOW ==>
      mkind(\old(q->number)) == 0 && before_solutions{Pre}(p, \old(q->number));
    ensures \result == PHIBAL_OK && *side == SEARCH_ABOVE ==>
      mkind(\old(q->number)) == 0 && after_solutions{Pre}(p, \old(q->number));
    ensures \result == PHIBAL_OK && *side == SEARCH_EQUAL && mreal(\old(q->number), 0.0) ==>
      before_solutions{Pre}(p, \old(q->number)) && after_solutions{Pre}(p, \old(q->number)); */
static phibal_status probe_at(bracket *b, const step_probe *p, mpfr_srcptr q, search_side *side);

/*@ requires search_ready(b, p) && \valid(side) && \separated(side, b) && \separated(side, p);
    requires \separated(side, p->phi) && \separated(side, p->start);
    terminates \true;
    exits \false;
    assigns *b, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1], *side;
    ensures search_ready(b, p) && probe_same{Pre, Here}(p);
    ensures only_search_written{Pre, Here}(b, p); */
static phibal_status probe_middle(bracket *b, const step_probe *p, search_side *side);

/*@ requires writable(end) && readable(guess) && \separated(end, guess);
    terminates \true;
    exits \false;
    assigns *end;
    ensures minitialised(end->number); */
static void step_away(mpfr_ptr end, mpfr_srcptr guess, bool below, mpfr_exp_t exponent);

/*@ requires writable(middle) && readable(a) && readable(b);
    requires \separated(middle, a) && \separated(middle, b);
    terminates \true;
    exits \false;
    assigns *middle;
    ensures minitialised(middle->number); */
static void set_middle(mpfr_ptr middle, mpfr_srcptr a, mpfr_srcptr b);

/*@ requires readable(a) && readable(c) && writable(difference);
    requires \separated(difference, a) && \separated(difference, c);
    requires 1 <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns *difference;
    ensures minitialised(difference->number); */
static bool is_narrow(mpfr_srcptr a, mpfr_srcptr c, mpfr_prec_t precision, mpfr_ptr difference);

/*@ requires bracket_ready(b);
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static bool move_end(bracket *b, search_side side);

/*@ requires bracket_ready(b);
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static bool is_close(bracket *b);

/*@ requires bracket_ready(b);
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static void set_crossing(bracket *b);

/*@ requires bracket_ready(b);
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static void bisect(bracket *b);

/*@ requires bracket_ready(b);
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static void halve_other_residual(bracket *b, search_side side);

/*@ requires bracket_ready(b) && 1 <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static bool is_done(bracket *b, mpfr_prec_t precision);

/*@ requires bracket_ready(b) && 1 <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static bool bisect_to_inner(bracket *b, search_side side, mpfr_prec_t precision);

/*@ requires bracket_ready(b);
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static void take_middle(bracket *b, search_side side, bool as_end);

/*@ requires bracket_ready(b);
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static bool gallop(bracket *b, search_side side, mpfr_exp_t step);

/*@ requires bracket_ready(b) && input(start) && \separated(b, start);
    requires 0 <= doublings < MOST_DOUBLINGS;
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static void leave_start(bracket *b, const phibal_enclosure *start, bool below, int doublings);

/*@ requires search_ready(b, p);
    terminates \true;
    exits \false;
    assigns *b, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures search_ready(b, p) && probe_same{Pre, Here}(p);
    ensures only_search_written{Pre, Here}(b, p); */
static phibal_status find_end(bracket *b, const step_probe *p, search_side wanted);

/*@ requires search_ready(b, p) && 1 <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns *b, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures search_ready(b, p) && probe_same{Pre, Here}(p);
    ensures only_search_written{Pre, Here}(b, p); */
static phibal_status refine_end(bracket *b, const step_probe *p, mpfr_prec_t precision,
                                search_side side);

/*@ requires search_ready(b, p) && 1 <= precision <= 0x10000000000 && \valid(found) &&
             \separated(found, b) && \separated(found, p) && \separated(found, p->phi);
    terminates \true;
    exits \false;
    assigns *b, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1], *found;
    ensures search_ready(b, p) && probe_same{Pre, Here}(p);
    ensures only_search_written{Pre, Here}(b, p); */
static phibal_status approach(bracket *b, const step_probe *p, mpfr_prec_t precision, bool *found);

/*@ requires search_ready(b, p) && 1 <= precision <= 0x10000000000 && \valid(found) &&
             \separated(found, b) && \separated(found, p) && \separated(found, p->phi);
    terminates \true;
    exits \false;
    assigns *b, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1], *found;
    ensures search_ready(b, p) && probe_same{Pre, Here}(p);
    ensures only_search_written{Pre, Here}(b, p); */
static phibal_status follow_chords(bracket *b, const step_probe *p, mpfr_prec_t precision,
                                   bool *found);

/*@ requires search_ready(b, p) && 1 <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns *b, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures search_ready(b, p) && probe_same{Pre, Here}(p);
    ensures only_search_written{Pre, Here}(b, p); */
static phibal_status gallop_end(bracket *b, const step_probe *p, mpfr_prec_t precision,
                                search_side wanted);

/*@ requires bracket_ready(b);
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static void keep_uncertain(bracket *b);

/*@ requires bracket_ready(b);
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static bool leave_uncertain(bracket *b);

/*@ requires search_ready(b, p) && 1 <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns *b, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures search_ready(b, p) && probe_same{Pre, Here}(p);
    ensures only_search_written{Pre, Here}(b, p); */
static phibal_status close_end(bracket *b, const step_probe *p, mpfr_prec_t precision,
                               search_side side);

/*@ requires search_ready(b, p) && 1 <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns *b, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures search_ready(b, p) && probe_same{Pre, Here}(p);
    ensures only_search_written{Pre, Here}(b, p); */
static phibal_status close_in(bracket *b, const step_probe *p, mpfr_prec_t precision);

/*@ requires search_ready(b, p) && 1 <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns *b, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures search_ready(b, p) && probe_same{Pre, Here}(p);
    ensures only_search_written{Pre, Here}(b, p); */
static phibal_status refine(bracket *b, const step_probe *p, mpfr_prec_t precision);

/*@ requires search_ready(b, p);
    terminates \true;
    exits \false;
    assigns b->residual[0], p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures search_ready(b, p) && probe_same{Pre, Here}(p);
    ensures only_search_written{Pre, Here}(b, p);
    ensures \result == PHIBAL_OK ==> mkind(b->lo[0].number) == 0 && mkind(b->hi[0].number) == 0;
    ensures \result == PHIBAL_OK ==> before_solutions{Pre}(p, b->lo[0].number);
    ensures \result == PHIBAL_OK ==> after_solutions{Pre}(p, b->hi[0].number); */
static phibal_status confirm_ends(bracket *b, const step_probe *p);

/*@ requires bracket_ready(b);
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b) && mreal(b->middle[0].number, 0.0);
    ensures only_bracket_written{Pre, Here}(b); */
static void set_middle_to_zero(bracket *b);

/*@ requires search_ready(b, p) && \valid(is_root);
    requires \separated(is_root, b) && \separated(is_root, p) && \separated(is_root, p->phi);
    terminates \true;
    exits \false;
    assigns *is_root, *b, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures search_ready(b, p) && probe_same{Pre, Here}(p);
    ensures only_search_written{Pre, Here}(b, p);
    ensures \result == PHIBAL_OK && *is_root ==> \forall choice c, real r;
      choice_of{Pre}(p, c) && solves(c, r) ==> r == 0.0; */
static phibal_status try_zero(bracket *b, const step_probe *p, bool *is_root);

/*@ requires bracket_ready(b) && output(root) && \separated(root, b);
    requires mkind(b->lo[0].number) == 0 && mkind(b->hi[0].number) == 0;
    terminates \true;
    exits \false;
    assigns *root;
    ensures enclosure(root);
    ensures only_written{Pre, Here}(root);
    ensures \result == PHIBAL_OK ==>
      \forall real r; below(b->lo[0].number, r) && above(b->hi[0].number, r) ==> in(root, r); */
static phibal_status set_root(phibal_enclosure *root, const bracket *b);

/*@ requires search_ready(b, p) && 1 <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns *b, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures search_ready(b, p) && probe_same{Pre, Here}(p);
    ensures only_search_written{Pre, Here}(b, p);
    ensures \result == PHIBAL_OK ==> mkind(b->lo[0].number) == 0 && mkind(b->hi[0].number) == 0;
    ensures \result == PHIBAL_OK ==> before_solutions{Pre}(p, b->lo[0].number);
    ensures \result == PHIBAL_OK ==> after_solutions{Pre}(p, b->hi[0].number); */
static phibal_status locate(bracket *b, const step_probe *p, mpfr_prec_t precision);

/*@ requires search_ready(b, p) && 1 <= precision <= 0x10000000000;
    requires output(root) && \separated(root, b) && \separated(root, p);
    requires probe_writes_apart(p, root);
    terminates \true;
    exits \false;
    assigns *root, *b, p->point[0 .. p->n - 1], p->image[0 .. p->n - 1];
    ensures enclosure(root) && bracket_ready(b);
    ensures probe_temporaries(p) && probe_same{Pre, Here}(p);
    ensures \forall phibal_enclosure *r; \valid_read{Pre}(r) && \separated(r, b) &&
      \separated(r, root) && probe_writes_apart{Pre}(p, r) ==> same{Pre, Here}(r);
    ensures \result == PHIBAL_OK ==>
      \forall choice c, real r; choice_of{Pre}(p, c) && solves(c, r) ==> in(root, r); */
static phibal_status search(bracket *b, const step_probe *p, mpfr_prec_t precision,
                            phibal_enclosure *root);

/*@ requires \valid(b) && MPFR_PREC_MIN <= precision <= 0x10000000000;
    terminates \true;
    exits \false;
    assigns *b;
    ensures bracket_ready(b);
    ensures only_bracket_written{Pre, Here}(b); */
static void bracket_init(bracket *b, mpfr_prec_t precision);

/*@ requires bracket_ready(b);
    terminates \true;
    exits \false;
    assigns *b;
    ensures only_bracket_written{Pre, Here}(b); */
static void bracket_clear(bracket *b);

#endif
