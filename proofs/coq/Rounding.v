(* Correct rounding to a format: what spec/acsl/rounding.h says it is follows from rounding to a whole
   number in units of the last place, and both ends of an interval decide for all between. *)
From Coq Require Import Reals ZArith Lra Lia.
From Phibal Require Import AcslDefinitions.
Open Scope R_scope.

(* Powers of two. *)
Lemma two_powerRZ k : acsl_two k = powerRZ 2 k.
Proof.
  unfold acsl_two, acsl_power_of_two. destruct (Z_ge_dec k 0) as [H|H].
  - destruct k; cbn [Z.to_nat powerRZ]; try reflexivity. lia.
  - destruct k; try lia. cbn [Z.opp Z.to_nat powerRZ]. unfold Rdiv. now rewrite Rmult_1_l.
Qed.
Lemma two_positive : forall k : Z, 0 < acsl_two k.
Proof. intros k. rewrite two_powerRZ. apply powerRZ_lt. lra. Qed.
Lemma two_plus j k : acsl_two (j + k) = acsl_two j * acsl_two k.
Proof. rewrite !two_powerRZ. apply powerRZ_add. lra. Qed.
Lemma two_0 : acsl_two 0 = 1.
Proof. now rewrite two_powerRZ. Qed.
Lemma two_1 : acsl_two 1 = 2.
Proof. rewrite two_powerRZ. apply powerRZ_1. Qed.
Lemma two_whole k : (0 <= k)%Z -> acsl_two k = IZR (2 ^ k).
Proof.
  intros H. unfold acsl_two, acsl_power_of_two. destruct (Z_ge_dec k 0); [|lia].
  rewrite <- (Z2Nat.id k) at 2 by lia. now rewrite pow_IZR.
Qed.
Lemma limits_rise : forall j k : Z, (j <= k)%Z -> acsl_two j <= acsl_two k.
Proof.
  intros j k H. replace k with (j + (k - j))%Z by lia. rewrite two_plus, (two_whole (k - j)) by lia.
  pose proof (two_positive j). assert (1 <= IZR (2 ^ (k - j))).
  { apply IZR_le. pose proof (Z.pow_pos_nonneg 2 (k - j)). lia. }
  nra.
Qed.
Lemma two_next k : acsl_two (k + 1) = 2 * acsl_two k.
Proof. rewrite two_plus, two_1. ring. Qed.
Lemma two_up k : (0 <= k)%Z -> acsl_power_of_two k = acsl_two k.
Proof. intros H. unfold acsl_two. destruct (Z_ge_dec k 0); [reflexivity|lia]. Qed.
Lemma two_down k : (k <= 0)%Z -> acsl_power_of_two (- k) = / acsl_two k.
Proof.
  intros H. rewrite two_up by lia. pose proof (two_positive k).
  apply Rmult_eq_reg_r with (acsl_two k); [|lra]. rewrite <- two_plus. replace (- k + k)%Z with 0%Z by lia.
  rewrite two_0. field. lra.
Qed.

Theorem two_is_power : forall k : Z, (k >= 0)%Z -> acsl_two k = acsl_power_of_two k.
Proof. intros k H. now rewrite two_up by lia. Qed.
Theorem in_units_one : forall (a : R) (k : Z),
  (acsl_in_units a k < 1 <-> a < acsl_two k) /\ (acsl_in_units a k >= 1 <-> a >= acsl_two k).
Proof.
  intros a k. unfold acsl_in_units. pose proof (two_positive k) as P.
  assert (E : a = a / acsl_two k * acsl_two k) by (field; lra).
  split; split; intros H.
  - rewrite E. nra.
  - apply Rmult_lt_reg_r with (acsl_two k); lra.
  - rewrite E. nra.
  - apply Rle_ge, Rmult_le_reg_r with (acsl_two k); lra.
Qed.
Theorem in_units_up : forall (a : R) (k : Z), (k <= 0)%Z ->
  acsl_in_units a k = a * acsl_power_of_two (- k).
Proof. intros a k H. unfold acsl_in_units. now rewrite two_down. Qed.
Theorem in_units_down : forall (a : R) (k : Z), (k >= 0)%Z ->
  acsl_in_units a k = a / acsl_power_of_two k.
Proof. intros a k H. unfold acsl_in_units. now rewrite two_up by lia. Qed.
Theorem at_place_up : forall n k : Z, (k >= 0)%Z -> acsl_at_place n k = IZR n * acsl_power_of_two k.
Proof. intros n k H. unfold acsl_at_place. now rewrite two_up by lia. Qed.
Theorem at_place_down : forall n k : Z, (k <= 0)%Z ->
  acsl_at_place n k = IZR n / acsl_power_of_two (- k).
Proof.
  intros n k H. unfold acsl_at_place. rewrite two_down by lia. pose proof (two_positive k). field. lra.
Qed.
Theorem at_place_sign : forall n k : Z, acsl_at_place (- n) k = - acsl_at_place n k.
Proof. intros n k. unfold acsl_at_place. rewrite opp_IZR. ring. Qed.
Theorem units_sign : forall (a : R) (k : Z),
  (a > 0 -> acsl_in_units a k > 0) /\ (a < 0 -> acsl_in_units a k < 0).
Proof.
  intros a k. unfold acsl_in_units, Rdiv. pose proof (Rinv_0_lt_compat _ (two_positive k)).
  split; intros; nra.
Qed.
Theorem place_sign : forall n k : Z,
  ((n >= 0)%Z -> acsl_at_place n k >= 0) /\ ((n <= 0)%Z -> acsl_at_place n k <= 0).
Proof.
  intros n k. unfold acsl_at_place. pose proof (two_positive k).
  split; intros H'; [apply Z.ge_le in H'|]; apply IZR_le in H'; nra.
Qed.

(* The formats. *)
Lemma format_facts f : IZR (acsl_format_most f) = acsl_two (acsl_format_precision f) /\
  (2 <= acsl_format_precision f)%Z /\ (2 <= acsl_format_most f)%Z /\
  (acsl_format_least f <= acsl_format_limit f - acsl_format_precision f)%Z /\
  (acsl_format_least f < acsl_format_limit f)%Z.
Proof.
  assert (T : (0 <= acsl_format_precision f)%Z /\
    acsl_format_most f = (2 ^ acsl_format_precision f)%Z /\
    (2 <= acsl_format_precision f)%Z /\ (2 <= acsl_format_most f)%Z /\
    (acsl_format_least f <= acsl_format_limit f - acsl_format_precision f)%Z /\
    (acsl_format_least f < acsl_format_limit f)%Z).
  { unfold acsl_format_most, acsl_format_precision, acsl_format_least, acsl_format_limit.
    repeat destruct (Z.eq_dec f _); try congruence; repeat split; lia. }
  destruct T as (P & M & T). split; [|tauto]. now rewrite M, two_whole.
Qed.
Lemma most_half f : exists h, acsl_format_most f = (2 * h)%Z /\ IZR h = acsl_two (acsl_format_precision f - 1).
Proof.
  destruct (format_facts f) as (M & P & _). exists (2 ^ (acsl_format_precision f - 1))%Z. split.
  - apply eq_IZR. rewrite M, mult_IZR, <- two_whole, <- two_next by lia. f_equal. lia.
  - now rewrite two_whole by lia.
Qed.
Lemma place_coarser n j k : (k <= j)%Z -> acsl_at_place n j = acsl_at_place (n * 2 ^ (j - k)) k.
Proof.
  intros H. unfold acsl_at_place. rewrite mult_IZR, <- two_whole, Rmult_assoc, <- two_plus by lia.
  do 2 f_equal. lia.
Qed.
Lemma place_next n k : acsl_at_place n (k + 1) = acsl_at_place (2 * n) k.
Proof. unfold acsl_at_place. rewrite two_next, mult_IZR. ring. Qed.
Lemma place_le m n k : (m <= n)%Z -> acsl_at_place m k <= acsl_at_place n k.
Proof. intros H. unfold acsl_at_place. apply IZR_le in H. pose proof (two_positive k). nra. Qed.
Lemma place_lt_inv m n k : acsl_at_place m k < acsl_at_place n k -> (m < n)%Z.
Proof.
  intros H. apply lt_IZR. apply Rmult_lt_reg_r with (acsl_two k); [apply two_positive | exact H].
Qed.
Theorem place_most : forall f : Z,
  acsl_at_place (acsl_format_most f) (acsl_format_limit f - acsl_format_precision f) =
    acsl_two (acsl_format_limit f).
Proof.
  intros f. unfold acsl_at_place. destruct (format_facts f) as (M & _). rewrite M, <- two_plus. f_equal. lia.
Qed.
Lemma number_place f n k : (- acsl_format_most f <= n <= acsl_format_most f)%Z ->
  (acsl_format_least f <= k <= acsl_format_limit f - acsl_format_precision f)%Z ->
  acsl_format_number f (acsl_at_place n k).
Proof.
  intros N K. unfold acsl_format_number.
  assert (U : forall m, (0 <= m <= acsl_format_most f)%Z -> 0 <= acsl_at_place m k <= acsl_two (acsl_format_limit f)).
  { intros m Hm. rewrite <- (place_most f). unfold acsl_at_place. pose proof (two_positive k).
    assert (acsl_two k <= acsl_two (acsl_format_limit f - acsl_format_precision f)) by (apply limits_rise; lia).
    destruct Hm as [Hm1 Hm2]. apply IZR_le in Hm1, Hm2. split; [nra|]. apply Rmult_le_compat; lra. }
  split.
  - destruct (Z_le_dec 0 n).
    + specialize (U n ltac:(lia)). pose proof (two_positive (acsl_format_limit f)). lra.
    + specialize (U (- n)%Z ltac:(lia)). rewrite at_place_sign in U.
      pose proof (two_positive (acsl_format_limit f)). lra.
  - exists n, k. repeat split; lia || reflexivity.
Qed.
Lemma number_opp f x : acsl_format_number f x -> acsl_format_number f (- x).
Proof.
  intros [B (n & k & (N & K) & E)]. split; [lra|]. exists (- n)%Z, k. repeat split; try lia.
  rewrite E. now rewrite at_place_sign.
Qed.
Lemma in_opp f x : acsl_in_format f x -> acsl_in_format f (- x).
Proof. intros [N B]. split; [now apply number_opp | lra]. Qed.
Lemma even_opp f x : acsl_even_number f x -> acsl_even_number f (- x).
Proof.
  intros (n & k & (N & K) & E). exists (- n)%Z, k. repeat split; try lia. rewrite E. now rewrite at_place_sign.
Qed.
Lemma number_limit f : acsl_format_number f (acsl_two (acsl_format_limit f)).
Proof.
  rewrite <- place_most. apply number_place; destruct (format_facts f) as (_ & P & M & L & _); lia.
Qed.
Lemma even_limit f : acsl_even_number f (acsl_two (acsl_format_limit f)).
Proof.
  exists 1%Z, (acsl_format_limit f). destruct (format_facts f) as (_ & P & M & _ & L).
  repeat split; try lia. unfold acsl_at_place. lra.
Qed.
Lemma in_zero f : acsl_in_format f 0.
Proof.
  pose proof (two_positive (acsl_format_limit f)). split; [split|]; try lra.
  exists 0%Z, (acsl_format_least f). destruct (format_facts f) as (_ & P & M & _).
  repeat split; try lia. unfold acsl_at_place. lra.
Qed.
(* Two neighbours: what is below 2^limit is at most the largest number. *)
Lemma in_largest f x : acsl_in_format f x ->
  x <= acsl_at_place (acsl_format_most f - 1) (acsl_format_limit f - acsl_format_precision f).
Proof.
  intros [[_ (n & k & (N & K) & E)] [_ B]]. set (j := (acsl_format_limit f - acsl_format_precision f)%Z).
  destruct (format_facts f) as (M & P & M2 & _). destruct (Z_le_dec j k) as [H|H].
  - rewrite E, (place_coarser n k j H) in *. apply place_le.
    rewrite <- place_most in B. apply place_lt_inv in B. lia.
  - rewrite E. apply Rle_trans with (acsl_at_place (acsl_format_most f) k); [apply place_le; lia|].
    unfold acsl_at_place. apply Rle_trans with (IZR (acsl_format_most f) * acsl_two (j - 1)).
    + apply Rmult_le_compat_l; [apply IZR_le; lia | apply limits_rise; lia].
    + replace j with (j - 1 + 1)%Z at 2 by lia. rewrite two_next, minus_IZR.
      apply IZR_le in M2. pose proof (two_positive (j - 1)). nra.
Qed.
Lemma largest_in f :
  acsl_in_format f (acsl_at_place (acsl_format_most f - 1) (acsl_format_limit f - acsl_format_precision f)).
Proof.
  destruct (format_facts f) as (M & P & M2 & L & _). split; [apply number_place; lia|].
  set (j := (acsl_format_limit f - acsl_format_precision f)%Z). pose proof (place_most f) as T. fold j in T.
  pose proof (two_positive j) as J. apply IZR_le in M2.
  unfold acsl_at_place in *. rewrite minus_IZR. nra.
Qed.

(* Directions mirror each other. *)
Lemma down_opp f a r : acsl_rounds_down f a r -> acsl_rounds_up f (- a) (- r).
Proof.
  intros [[[I L] G]|[E G]]; [left|right].
  - split; [split; [now apply in_opp | lra]|]. intros x [X Xa]. apply in_opp in X. specialize (G (- x)).
    assert (- x <= r) by (apply G; split; [assumption | lra]). lra.
  - split; [lra|]. intros x X. apply in_opp in X. specialize (G (- x) X). lra.
Qed.
Lemma up_opp f a r : acsl_rounds_up f a r -> acsl_rounds_down f (- a) (- r).
Proof.
  intros [[[I L] G]|[E G]]; [left|right].
  - split; [split; [now apply in_opp | lra]|]. intros x [X Xa]. apply in_opp in X. specialize (G (- x)).
    assert (r <= - x) by (apply G; split; [assumption | lra]). lra.
  - split; [lra|]. intros x X. apply in_opp in X. specialize (G (- x) X). lra.
Qed.
Lemma nearest_opp f a r : acsl_rounds_nearest f a r -> acsl_rounds_nearest f (- a) (- r).
Proof.
  intros [[N G] T]. split; [split; [now apply number_opp|]|].
  - intros x X. apply number_opp in X. specialize (G (- x) X).
    replace (- r - - a) with (- (r - a)) by ring. replace (x - - a) with (- (- x - a)) by ring.
    now rewrite !Rabs_Ropp.
  - intros x [[X D] E]. apply even_opp. apply (T (- x)). split; [split; [now apply number_opp | lra]|].
    replace (- r - - a) with (- (r - a)) in E by ring. replace (x - - a) with (- (- x - a)) in E by ring.
    now rewrite !Rabs_Ropp in E.
Qed.

(* An interval whose ends round to the same number. *)
Lemma down_between f lo a hi r : acsl_rounds_down f lo r -> acsl_rounds_down f hi r -> lo <= a <= hi ->
  acsl_rounds_down f a r.
Proof.
  intros Hl Hh B. destruct Hh as [[[I L] G]|[E G]].
  - left. destruct Hl as [[[_ L'] _]|[E' _]]; [|destruct I as [_ I]; lra].
    split; [split; [assumption|lra]|]. intros x [X Xa]. apply G. split; [assumption|lra].
  - right. split; [assumption|]. intros x X. specialize (G x X). lra.
Qed.
Lemma up_between f lo a hi r : acsl_rounds_up f lo r -> acsl_rounds_up f hi r -> lo <= a <= hi ->
  acsl_rounds_up f a r.
Proof.
  intros Hl Hh B. apply up_opp in Hl, Hh. replace a with (- - a) by ring. replace r with (- - r) by ring.
  apply down_opp, (down_between f (- hi) _ (- lo)); assumption || lra.
Qed.
Lemma Rabs_cases t : (0 <= t /\ Rabs t = t) \/ (t < 0 /\ Rabs t = - t).
Proof. destruct (Rle_dec 0 t); [left | right]; split; try lra; [apply Rabs_pos_eq | apply Rabs_left]; lra. Qed.
Ltac side t := let E := fresh in destruct (Rabs_cases t) as [[? E]|[? E]]; rewrite E in *; clear E.
Ltac sides := repeat match goal with |- context [Rabs ?t] => side t | H : context [Rabs ?t] |- _ => side t end;
  lra.
Lemma nearest_between f lo a hi r : acsl_rounds_nearest f lo r -> acsl_rounds_nearest f hi r ->
  lo <= a <= hi -> acsl_rounds_nearest f a r.
Proof.
  intros [[N Gl] Tl] [[_ Gh] Th] B. split; [split; [assumption|]|].
  - intros x X. specialize (Gl x X). specialize (Gh x X). sides.
  - intros x [[X D] E]. destruct (Rlt_dec x r) as [H|H].
    + apply (Tl x). specialize (Gl x X). split; [split; assumption|]. clear Tl Th. sides.
    + assert (r < x) by (apply Rnot_lt_le in H; destruct H; [assumption | congruence]).
      apply (Th x). specialize (Gh x X). split; [split; assumption|]. clear Tl Th. sides.
Qed.
(* 0 is a number, so that what rounds away from it has a sign. *)
Lemma up_limit f a : acsl_rounds_up f a (acsl_two (acsl_format_limit f)) -> 0 < a.
Proof. intros [[[[_ I] _] _]|[_ G]]; [lra|]. apply (G 0 (in_zero f)). Qed.
Lemma down_sign f a r : acsl_rounds_down f a r -> 0 <= a -> 0 <= r.
Proof.
  intros [[_ G]|[E G]] A; [apply G; split; [apply in_zero | lra]|]. specialize (G 0 (in_zero f)). lra.
Qed.
Lemma up_sign f a r : acsl_rounds_up f a r -> a <= 0 -> r <= 0.
Proof.
  intros [[_ G]|[E G]] A; [apply G; split; [apply in_zero | lra]|]. specialize (G 0 (in_zero f)). lra.
Qed.
Lemma rounding_intro f d a r : (d = 0%Z -> acsl_rounds_nearest f a r) -> (d = 1%Z -> acsl_rounds_down f a r) ->
  (d = 2%Z -> acsl_rounds_up f a r) -> (d = 3%Z -> 0 <= a -> acsl_rounds_down f a r) ->
  (d = 3%Z -> a <= 0 -> acsl_rounds_up f a r) -> acsl_rounding f d a r.
Proof.
  intros N D U Z Z'. split; [split; [split|]|]; try assumption. intros E. split; intros A;
    [apply Z | apply Z']; assumption || lra.
Qed.
Ltac open H := destruct H as [[[?Hn ?Hd] ?Hu] ?Hz].
Lemma down_zero f : acsl_rounds_down f 0 0.
Proof. left. split; [split; [apply in_zero | lra]|]. intros x [_ H]. exact H. Qed.
Lemma up_zero f : acsl_rounds_up f 0 0.
Proof. left. split; [split; [apply in_zero | lra]|]. intros x [_ H]. exact H. Qed.
Lemma down_of_up f lo hi r : acsl_rounds_up f lo r -> acsl_rounds_down f hi r -> lo <= 0 <= hi ->
  r = 0.
Proof. intros U D B. pose proof (up_sign f lo r U). pose proof (down_sign f hi r D). lra. Qed.

Theorem rounding_between : forall (f d : Z) (lo a hi r : R),
  (acsl_rounding f d lo r /\ acsl_rounding f d hi r) /\ (lo <= a /\ a <= hi) -> acsl_rounding f d a r.
Proof.
  intros f d lo a hi r [[L H] B]. open L. open H. apply rounding_intro; intros.
  - apply (nearest_between f lo _ hi); auto.
  - apply (down_between f lo _ hi); auto.
  - apply (up_between f lo _ hi); auto.
  - destruct (Rle_dec 0 lo); [apply (down_between f lo _ hi); [apply Hz; [assumption | lra] | apply Hz0; [assumption | lra] | assumption]|].
    assert (U : acsl_rounds_up f lo r) by (apply Hz; [assumption | lra]).
    assert (D : acsl_rounds_down f hi r) by (apply Hz0; [assumption | lra]).
    assert (r = 0) by (apply (down_of_up f lo hi); assumption || lra). subst r.
    apply (down_between f 0 _ hi); [apply down_zero | assumption | lra].
  - destruct (Rle_dec hi 0); [apply (up_between f lo _ hi); [apply Hz; [assumption | lra] | apply Hz0; [assumption | lra] | assumption]|].
    assert (D : acsl_rounds_down f hi r) by (apply Hz0; [assumption | lra]).
    assert (U : acsl_rounds_up f lo r) by (apply Hz; [assumption | lra]).
    assert (r = 0) by (apply (down_of_up f lo hi); assumption || lra). subst r.
    apply (up_between f lo _ 0); [assumption | apply up_zero | lra].
Qed.

Theorem rounding_zero : forall (f d : Z) (a r : R), a = 0 /\ r = 0 -> acsl_rounding f d a r.
Proof.
  intros f d a r [-> ->]. apply rounding_intro; intros; try apply down_zero; try apply up_zero.
  split; [split; [apply in_zero|]|].
  - intros x _. unfold Rminus. rewrite Rplus_opp_r, Rabs_R0. apply Rabs_pos.
  - intros x [[X D] E]. exfalso. sides.
Qed.

(* Mirrored directions. *)
Definition mirrored (d : Z) : Z := if Z.eq_dec d 1 then 2%Z else if Z.eq_dec d 2 then 1%Z else d.
Lemma rounding_opp f d a r : acsl_rounding f d a r -> acsl_rounding f (mirrored d) (- a) (- r).
Proof.
  intros H. open H. unfold mirrored.
  apply rounding_intro; intros; repeat destruct (Z.eq_dec d _); subst; try discriminate;
    try (apply nearest_opp; auto; fail); try (apply up_opp; auto; fail); try (apply down_opp; auto; fail);
    try lia.
  all: try (apply up_opp, Hz; [reflexivity | lra]).
  all: try (apply down_opp, Hz; [reflexivity | lra]).
  all: try contradiction.
Qed.
Lemma mirrored_twice d : mirrored (mirrored d) = d.
Proof. unfold mirrored. repeat destruct (Z.eq_dec _ _); lia. Qed.

Lemma rounding_up_there_ : forall (f d : Z) (a : R), (0 <= d <= 3)%Z ->
  acsl_rounding f d a (acsl_two (acsl_format_limit f)) -> 0 < a /\ (d = 0 \/ d = 2)%Z.
Proof.
  intros f d a Hd0 H. open H. pose proof (two_positive (acsl_format_limit f)) as P.
  assert (ND : ~ acsl_rounds_down f a (acsl_two (acsl_format_limit f))).
  { intros [[[[_ I] _] _]|[E _]]; lra. }
  assert (C : (d = 0 \/ d = 1 \/ d = 2 \/ d = 3)%Z) by lia. destruct C as [C|[C|[C|C]]].
  - split; [|lia]. destruct (Hn C) as [[_ G] _]. specialize (G 0 (proj1 (in_zero f))). sides.
  - elim ND. auto.
  - split; [|lia]. apply (up_limit f). auto.
  - destruct (Rle_dec 0 a); [elim ND; apply Hz; [assumption | lra]|].
    exfalso. assert (0 < a); [|lra]. apply (up_limit f). apply Hz; [assumption | lra].
Qed.
Theorem rounding_up_there : forall (f d : Z) (a r : R),
  (((0 <= d)%Z /\ (d <= 3)%Z) /\ acsl_rounding f d a r) /\ r = acsl_two (acsl_format_limit f) ->
  0 < a /\ (d = 0%Z \/ d = 2%Z).
Proof. intros f d a r [[D H] ->]. apply (rounding_up_there_ f d a); auto. Qed.
Theorem rounding_down_there : forall (f d : Z) (a r : R),
  (((0 <= d)%Z /\ (d <= 3)%Z) /\ acsl_rounding f d a r) /\ r = - acsl_two (acsl_format_limit f) ->
  a < 0 /\ (d = 0%Z \/ d = 1%Z).
Proof.
  intros f d a r [[D H] ->]. apply rounding_opp in H. rewrite Ropp_involutive in H.
  apply rounding_up_there_ in H; [|unfold mirrored; repeat destruct (Z.eq_dec d _); lia].
  destruct H as [A E]. split; [lra|]. unfold mirrored in E. repeat destruct (Z.eq_dec d _); lia.
Qed.
Lemma rounding_above_ : forall (f d : Z) (lo a : R), (0 <= d <= 3)%Z ->
  acsl_rounding f d lo (acsl_two (acsl_format_limit f)) -> lo <= a ->
  acsl_rounding f d a (acsl_two (acsl_format_limit f)).
Proof.
  intros f d lo a D H L. destruct (rounding_up_there_ f d lo D H) as [P C]. open H.
  apply rounding_intro; intros; try lia.
  - destruct (Hn H) as [[_ G] _]. split; [split; [apply number_limit|]|].
    + intros x X. specialize (G x X). destruct X as [X _]. clear - G X P L. sides.
    + intros. apply even_limit.
  - assert (U : acsl_rounds_up f lo (acsl_two (acsl_format_limit f))) by auto.
    destruct U as [[[[_ I] _] _]|[_ G]]; [lra|]. right. split; [reflexivity|].
    intros x X. specialize (G x X). lra.
Qed.
Theorem rounding_above : forall (f d : Z) (lo a r : R),
  ((((0 <= d)%Z /\ (d <= 3)%Z) /\ acsl_rounding f d lo r) /\ lo <= a) /\
  r = acsl_two (acsl_format_limit f) -> acsl_rounding f d a r.
Proof. intros f d lo a r [[[D H] L] ->]. now apply (rounding_above_ f d lo a). Qed.
Theorem rounding_below : forall (f d : Z) (a hi r : R),
  ((((0 <= d)%Z /\ (d <= 3)%Z) /\ acsl_rounding f d hi r) /\ a <= hi) /\
  r = - acsl_two (acsl_format_limit f) -> acsl_rounding f d a r.
Proof.
  intros f d a hi r [[[D H] L] ->]. apply rounding_opp in H. rewrite Ropp_involutive in H.
  apply (rounding_above_ f (mirrored d) _ (- a)) in H; [|unfold mirrored; repeat destruct (Z.eq_dec d _); lia|lra].
  apply rounding_opp in H. now rewrite mirrored_twice, Ropp_involutive in H.
Qed.

(* Magnitudes beyond all numbers. *)
Theorem rounding_beyond : forall (f d : Z) (a r : R), acsl_two (acsl_format_limit f) <= a /\
  r = (if Z.eq_dec d 0 then acsl_two (acsl_format_limit f) else
    if Z.eq_dec d 2 then acsl_two (acsl_format_limit f) else
    acsl_at_place (acsl_format_most f - 1) (acsl_format_limit f - acsl_format_precision f)) ->
  acsl_rounding f d a r.
Proof.
  intros f d a r [A ->]. pose proof (two_positive (acsl_format_limit f)) as P.
  assert (D : acsl_rounds_down f a
    (acsl_at_place (acsl_format_most f - 1) (acsl_format_limit f - acsl_format_precision f))).
  { left. pose proof (largest_in f) as L. split; [split; [assumption|]|].
    - destruct L as [_ L]. lra.
    - intros x [X _]. now apply in_largest. }
  apply rounding_intro; intros; repeat destruct (Z.eq_dec d _); try lia; try assumption; try lra.
  - split; [split; [apply number_limit|]|].
    + intros x [X _]. clear - A X. sides.
    + intros x [[[X _] N] E]. exfalso. clear - A X N E. sides.
  - right. split; [reflexivity|]. intros x [_ X]. lra.
Qed.
Theorem rounding_beyond_below : forall (f d : Z) (a r : R), a <= - acsl_two (acsl_format_limit f) /\
  r = (if Z.eq_dec d 0 then - acsl_two (acsl_format_limit f) else
    if Z.eq_dec d 1 then - acsl_two (acsl_format_limit f) else
    - acsl_at_place (acsl_format_most f - 1) (acsl_format_limit f - acsl_format_precision f)) ->
  acsl_rounding f d a r.
Proof.
  intros f d a r [A ->]. assert (B : acsl_two (acsl_format_limit f) <= - a) by lra.
  pose proof (rounding_beyond f (mirrored d) (- a) _ (conj B eq_refl)) as H. apply rounding_opp in H.
  rewrite mirrored_twice, Ropp_involutive in H. unfold mirrored in H.
  repeat destruct (Z.eq_dec _ _); subst; try lia; try discriminate; exact H.
Qed.

(* In units of the last place. *)
Lemma place_bounds f e k : k = acsl_format_place f e ->
  (acsl_format_least f <= k)%Z /\ (e - acsl_format_precision f <= k)%Z /\
  (k = acsl_format_least f \/ k = e - acsl_format_precision f)%Z.
Proof. intros ->. unfold acsl_format_place. destruct Z_gt_dec; lia. Qed.
Lemma units_times a k : acsl_in_units a k * acsl_two k = a.
Proof. unfold acsl_in_units. pose proof (two_positive k). field. lra. Qed.
Lemma units_below f e k a : Rabs a < acsl_two e -> k = acsl_format_place f e ->
  Rabs (acsl_in_units a k) < IZR (acsl_format_most f).
Proof.
  intros A K. destruct (place_bounds f e k K) as (_ & B & _). destruct (format_facts f) as (M & _).
  pose proof (two_positive k) as P. apply Rmult_lt_reg_r with (acsl_two k); [assumption|].
  rewrite M, <- two_plus. rewrite <- (Rabs_pos_eq (acsl_two k)) at 1 by lra. rewrite <- Rabs_mult, units_times.
  apply Rlt_le_trans with (1 := A). apply limits_rise. lia.
Qed.
Theorem units_fit : forall (f e k : Z) (a : R), Rabs a < acsl_two e /\ k = acsl_format_place f e ->
  Rabs (acsl_in_units a k) <= IZR (acsl_format_most f).
Proof. intros f e k a [A K]. apply Rlt_le. now apply (units_below f e). Qed.
Theorem place_limit : forall f n k : Z,
  (((- acsl_format_most f <= n)%Z /\ (n <= acsl_format_most f)%Z) /\
    (k <= acsl_format_limit f - acsl_format_precision f)%Z) /\
  ~ ((n = acsl_format_most f \/ n = (- acsl_format_most f)%Z) /\
    k = (acsl_format_limit f - acsl_format_precision f)%Z) ->
  - acsl_two (acsl_format_limit f) < acsl_at_place n k /\
  acsl_at_place n k < acsl_two (acsl_format_limit f).
Proof.
  intros f n k [[N K] X]. destruct (format_facts f) as (M & P & M2 & _).
  set (j := (acsl_format_limit f - acsl_format_precision f)%Z) in *.
  assert (T : acsl_two (acsl_format_limit f) = IZR (acsl_format_most f) * acsl_two j).
  { symmetry. apply place_most. }
  assert (L : forall m, (m <= acsl_format_most f)%Z -> (m < acsl_format_most f \/ k < j)%Z ->
    IZR m * acsl_two k < IZR (acsl_format_most f) * acsl_two j).
  { intros m Hm C. pose proof (two_positive k). pose proof (two_positive j).
    pose proof (limits_rise k j K). apply IZR_le in M2. destruct C as [C|C].
    - apply IZR_lt in C. apply Rlt_le_trans with (IZR (acsl_format_most f) * acsl_two k); nra.
    - apply IZR_le in Hm. assert (2 * acsl_two k <= acsl_two j).
      { rewrite <- two_next. apply limits_rise. lia. } nra. }
  rewrite T. unfold acsl_at_place. split.
  - apply Ropp_lt_cancel. rewrite Ropp_involutive, Ropp_mult_distr_l, <- opp_IZR. apply L; lia.
  - apply L; lia.
Qed.
(* A number of the format is whole in units of a's last place, or nearer to 0 than a whole number of
   them that is itself no farther than a. *)
Lemma number_units f e k a x : acsl_two (e - 1) <= Rabs a -> k = acsl_format_place f e ->
  acsl_format_number f x ->
  (exists m, x = acsl_at_place m k) \/
  (exists m, Rabs x <= acsl_at_place m k /\ IZR m <= Rabs (acsl_in_units a k)).
Proof.
  intros A K [_ (n & j & (N & J) & E)]. destruct (place_bounds f e k K) as (L & _ & C).
  destruct (Z_le_dec k j) as [H|H].
  - left. exists (n * 2 ^ (j - k))%Z. rewrite E. now apply place_coarser.
  - right. destruct C as [C|C]; [lia|]. destruct (most_half f) as (h & Hm & Hh). exists h.
    assert (T : acsl_at_place h k = acsl_two (e - 1)).
    { unfold acsl_at_place. rewrite Hh, <- two_plus. f_equal. lia. }
    split.
    + apply Rle_trans with (acsl_at_place (acsl_format_most f) j).
      * rewrite E. unfold acsl_at_place. rewrite Rabs_mult, (Rabs_pos_eq (acsl_two j)) by (apply Rlt_le, two_positive).
        apply Rmult_le_compat_r; [apply Rlt_le, two_positive|]. rewrite <- abs_IZR. apply IZR_le. lia.
      * rewrite Hm, <- place_next. unfold acsl_at_place. apply Rmult_le_compat_l.
        -- rewrite Hh. apply Rlt_le, two_positive.
        -- apply limits_rise. lia.
    + apply Rmult_le_reg_r with (acsl_two k); [apply two_positive|].
      rewrite <- (Rabs_pos_eq (acsl_two k)) at 2 by (apply Rlt_le, two_positive).
      rewrite <- Rabs_mult, units_times. unfold acsl_at_place in T. lra.
Qed.
Section Units.
Variables (f e k : Z) (a : R).
Hypothesis big : acsl_two (e - 1) <= Rabs a.
Hypothesis small : Rabs a < acsl_two e.
Hypothesis limited : (e <= acsl_format_limit f)%Z.
Hypothesis last : k = acsl_format_place f e.
Let u := acsl_two k.
Let v := acsl_in_units a k.
Lemma a_units : a = v * u.
Proof. symmetry. apply units_times. Qed.
Lemma u_positive : 0 < u.
Proof. apply two_positive. Qed.
Lemma k_limited : (acsl_format_least f <= k <= acsl_format_limit f - acsl_format_precision f)%Z.
Proof.
  destruct (place_bounds f e k last) as (L & _ & C). destruct (format_facts f) as (_ & P & M & B & _). lia.
Qed.
Lemma n_fits n : IZR n - 1 < v -> v < IZR n + 1 -> (- acsl_format_most f <= n <= acsl_format_most f)%Z.
Proof.
  intros L H. pose proof (units_below f e k a small last) as B. fold v in B. apply Rabs_def2 in B.
  split.
  - apply Z.lt_succ_r. apply lt_IZR. rewrite succ_IZR, opp_IZR. lra.
  - apply Z.lt_succ_r. apply lt_IZR. rewrite succ_IZR. lra.
Qed.
Lemma greatest n x : IZR n <= v < IZR n + 1 -> acsl_format_number f x -> x <= a -> x <= acsl_at_place n k.
Proof.
  intros B X A. pose proof u_positive as U. pose proof a_units as E.
  destruct (number_units f e k a x big last X) as [[m Hm]|(m & Hx & Hm)].
  - rewrite Hm. apply place_le. apply Z.lt_succ_r, lt_IZR. rewrite succ_IZR.
    apply Rle_lt_trans with v; [|lra]. apply Rmult_le_reg_r with u; [assumption|].
    rewrite <- E. unfold acsl_at_place in Hm. fold u in Hm. lra.
  - fold v in Hm. unfold acsl_at_place in *. fold u in Hx |- *. destruct (Rle_dec 0 v) as [V|V].
    + rewrite Rabs_pos_eq in Hm by assumption.
      assert (M : (m <= n)%Z). { apply Z.lt_succ_r, lt_IZR. rewrite succ_IZR. lra. }
      apply IZR_le in M. pose proof (Rle_abs x). nra.
    + rewrite Rabs_left in Hm by lra.
      assert (x <= v * u) by lra. assert (- x <= IZR m * u). { pose proof (Rle_abs (- x)) as Q. rewrite Rabs_Ropp in Q. lra. }
      assert (F : IZR m = - v) by nra. assert (M : v < IZR (- m + 1)). { rewrite plus_IZR, opp_IZR. lra. }
      assert (G : (- m <= n)%Z). { apply Z.lt_succ_r, lt_IZR. rewrite succ_IZR, opp_IZR. lra. }
      apply IZR_le in G. rewrite opp_IZR in G. nra.
Qed.
Lemma units_down n : IZR n <= v < IZR n + 1 -> acsl_rounds_down f a (acsl_at_place n k).
Proof.
  intros B. pose proof u_positive as U. pose proof a_units as E.
  assert (N : acsl_format_number f (acsl_at_place n k)).
  { apply number_place; [apply n_fits; lra | apply k_limited]. }
  assert (A : acsl_at_place n k <= a). { unfold acsl_at_place. fold u. rewrite E. nra. }
  pose proof (limits_rise e _ limited) as L. pose proof (Rle_abs a).
  destruct (Req_dec (acsl_at_place n k) (- acsl_two (acsl_format_limit f))) as [H0|H0].
  - right. split; [assumption|]. intros x X. apply Rnot_le_lt. intros C.
    pose proof (greatest n x B (proj1 X) C). destruct X as [_ X]. lra.
  - left. split; [split; [split; [assumption|]|assumption]|].
    + destruct N as [N _]. lra.
    + intros x [[X _] C]. now apply greatest.
Qed.
Lemma nearest_whole n m : Rabs (IZR n - v) <= / 2 -> m <> n -> / 2 <= Rabs (IZR m - v).
Proof.
  intros B D. assert (C : (m <= n - 1 \/ n + 1 <= m)%Z) by lia.
  destruct C as [C|C]; apply IZR_le in C; rewrite ?minus_IZR, ?plus_IZR in C; sides.
Qed.
Lemma nearest_least n m : Rabs (IZR n - v) <= / 2 -> Rabs (IZR n - v) <= Rabs (IZR m - v).
Proof.
  intros B. destruct (Z.eq_dec m n) as [->|D]; [lra|]. pose proof (nearest_whole n m B D). lra.
Qed.
Lemma distance m : Rabs (acsl_at_place m k - a) = Rabs (IZR m - v) * u.
Proof.
  pose proof u_positive as U. unfold acsl_at_place. fold u. rewrite a_units at 1.
  replace (IZR m * u - v * u) with ((IZR m - v) * u) by ring. rewrite Rabs_mult, (Rabs_pos_eq u); lra.
Qed.
(* A number no nearer than a whole one in these units, and that one itself if as near. *)
Lemma stands_for x : acsl_format_number f x -> exists m,
  Rabs (acsl_at_place m k - a) <= Rabs (x - a) /\
  (Rabs (acsl_at_place m k - a) = Rabs (x - a) -> x = acsl_at_place m k).
Proof.
  intros X. pose proof u_positive as U. pose proof a_units as E.
  destruct (number_units f e k a x big last X) as [[m Hm]|(m & Hx & Hm)].
  - exists m. rewrite Hm. split; [lra | reflexivity].
  - fold v in Hm. destruct (Rle_dec 0 v) as [V|V].
    + rewrite Rabs_pos_eq in Hm by assumption. exists m. unfold acsl_at_place in *. fold u in Hx |- *.
      assert (IZR m * u <= a) by (rewrite E; nra). pose proof (Rle_abs x). split; [|intros Q]; sides.
    + rewrite Rabs_left in Hm by lra. exists (- m)%Z. unfold acsl_at_place in *. fold u in Hx |- *.
      rewrite opp_IZR. assert (a <= - IZR m * u) by (rewrite E; nra).
      pose proof (Rle_abs (- x)) as Q'. rewrite Rabs_Ropp in Q'. split; [|intros Q]; sides.
Qed.
Lemma units_nearest n : Rabs (IZR n - v) <= / 2 ->
  (Rabs (IZR n - v) = / 2 -> exists h, n = (2 * h)%Z) ->
  acsl_rounds_nearest f a (acsl_at_place n k).
Proof.
  intros B T. pose proof u_positive as U.
  assert (F : (- acsl_format_most f <= n <= acsl_format_most f)%Z) by (apply n_fits; sides).
  split; [split|].
  - apply number_place; [assumption | apply k_limited].
  - intros x X. destruct (stands_for x X) as (m & L & _). apply Rle_trans with (2 := L).
    rewrite !distance. apply Rmult_le_compat_r; [lra | now apply nearest_least].
  - intros x [[X D] E]. destruct (stands_for x X) as (m & L & S).
    assert (Q : Rabs (IZR n - v) <= Rabs (IZR m - v)) by now apply nearest_least.
    rewrite !distance in *. assert (Rabs (IZR m - v) = Rabs (IZR n - v)) as R by nra.
    assert (M : m <> n). { intros ->. apply D. apply S. lra. }
    pose proof (nearest_whole n m B M). destruct T as [h Hh]; [lra|]. subst n.
    exists h, (k + 1)%Z. repeat split; try lia; [|now rewrite place_next].
    pose proof k_limited. lia.
Qed.
End Units.
Lemma units_up f e k a n : acsl_two (e - 1) <= Rabs a -> Rabs a < acsl_two e ->
  (e <= acsl_format_limit f)%Z -> k = acsl_format_place f e ->
  IZR n - 1 < acsl_in_units a k <= IZR n -> acsl_rounds_up f a (acsl_at_place n k).
Proof.
  intros B S L K H. replace a with (- - a) by ring. replace n with (- - n)%Z by lia. rewrite at_place_sign.
  apply down_opp, (units_down f e k); try rewrite Rabs_Ropp; try assumption.
  unfold acsl_in_units, Rdiv in *. rewrite opp_IZR, Ropp_mult_distr_l_reverse. lra.
Qed.
Theorem rounding_units : forall (f d e k n : Z) (a : R),
  (((acsl_two (e - 1) <= Rabs a /\ Rabs a < acsl_two e) /\ (e <= acsl_format_limit f)%Z) /\
    k = acsl_format_place f e) /\ acsl_rounds_to_integer d (acsl_in_units a k) n ->
  acsl_rounding f d a (acsl_at_place n k).
Proof.
  intros f d e k n a [[[[B S] L] K] H]. destruct H as [[Hn Hd] Hu].
  rewrite plus_IZR in Hd. rewrite minus_IZR in Hu. destruct (units_sign a k) as [Up Un].
  assert (Z : 0 <= a -> acsl_in_units a k >= 0).
  { intros [A|A]; [left; apply Up; lra|]. rewrite <- A. unfold acsl_in_units, Rdiv. rewrite Rmult_0_l. lra. }
  assert (Z' : a <= 0 -> acsl_in_units a k <= 0).
  { intros [A|A]; [left; apply Un; lra|]. rewrite A. unfold acsl_in_units, Rdiv. rewrite Rmult_0_l. lra. }
  apply rounding_intro; intros.
  - destruct (Hn H) as [Q T]. apply (units_nearest f e k a B S L K n); [lra|]. intros E. apply T. lra.
  - apply (units_down f e k a B S L K n). apply Hd. now left.
  - apply (units_up f e k a n B S L K). apply Hu. now left.
  - apply (units_down f e k a B S L K n). apply Hd. right. split; [assumption|]. apply Z. lra.
  - apply (units_up f e k a n B S L K). apply Hu. right. split; [assumption|]. apply Z'. lra.
Qed.

(* The unit in the last place of a is the gap between the numbers around it. *)
Theorem unit_is_gap : forall (f e : Z) (a r : R),
  ((acsl_two (e - 1) <= a /\ a < acsl_two e) /\ (e <= acsl_format_limit f)%Z) /\ acsl_rounds_down f a r ->
  acsl_format_number f (r + acsl_two (acsl_format_place f e)) /\
  (forall y : R, acsl_format_number f y -> y <= r \/ r + acsl_two (acsl_format_place f e) <= y).
Proof.
  intros f e a r [[[B S] L] D]. pose proof (two_positive (e - 1)) as P.
  set (k := acsl_format_place f e). pose proof (two_positive k) as U.
  assert (B' : acsl_two (e - 1) <= Rabs a) by (rewrite Rabs_pos_eq; lra).
  assert (S' : Rabs a < acsl_two e) by (rewrite Rabs_pos_eq; lra).
  pose proof (archimed (acsl_in_units a k)) as [A1 A2]. set (n := (up (acsl_in_units a k) - 1)%Z).
  assert (N : IZR n <= acsl_in_units a k < IZR n + 1) by (unfold n; rewrite minus_IZR; lra).
  assert (E : r = acsl_at_place n k).
  { destruct (units_down f e k a B' S' L eq_refl n N) as [[[I1 L1] G1]|[_ G1]];
      [|specialize (G1 0 (in_zero f)); lra].
    destruct D as [[[I2 L2] G2]|[_ G2]]; [|specialize (G2 0 (in_zero f)); lra].
    apply Rle_antisym; [apply G1 | apply G2]; auto. }
  assert (T : r + acsl_two k = acsl_at_place (n + 1) k).
  { rewrite E. unfold acsl_at_place. rewrite plus_IZR. ring. }
  assert (V : 0 <= acsl_in_units a k) by (apply Rlt_le, units_sign; lra).
  assert (N0 : (0 <= n)%Z). { apply Z.lt_succ_r, lt_IZR. rewrite succ_IZR. lra. }
  pose proof (units_below f e k a S' eq_refl) as M. rewrite Rabs_pos_eq in M by assumption.
  assert (N1 : (n + 1 <= acsl_format_most f)%Z). { apply Zlt_le_succ. apply lt_IZR. lra. }
  split.
  - rewrite T. apply number_place; [lia|]. apply (k_limited f e k); [assumption | reflexivity].
  - intros y Y. destruct (Rle_dec y a) as [H|H].
    + left. rewrite E. now apply (greatest f e k a B' eq_refl n y).
    + right. rewrite T. destruct (number_units f e k a y B' eq_refl Y) as [[m Hm]|(m & Hy & Hm)].
      * rewrite Hm. apply place_le. assert (n < m)%Z; [|lia]. apply lt_IZR.
        apply Rle_lt_trans with (acsl_in_units a k); [lra|].
        apply Rmult_lt_reg_r with (acsl_two k); [assumption|]. rewrite units_times.
        unfold acsl_at_place in Hm. lra.
      * exfalso. apply H. rewrite Rabs_pos_eq in Hm by assumption. pose proof (Rle_abs y).
        rewrite <- (units_times a k). unfold acsl_at_place in Hy. nra.
Qed.
Theorem place_one : forall k : Z, acsl_at_place 1 k = acsl_two k.
Proof. intros k. unfold acsl_at_place. lra. Qed.
Lemma in_one f : acsl_in_format f 1.
Proof.
  assert (L : (acsl_format_least f <= 0 /\ 1 <= acsl_format_limit f)%Z).
  { unfold acsl_format_least, acsl_format_limit. repeat destruct (Z.eq_dec f _); lia. }
  assert (P : 2 <= acsl_two (acsl_format_limit f)). { rewrite <- two_1. apply limits_rise. lia. }
  destruct (format_facts f) as (_ & _ & M & _).
  split; [split; [lra|]|lra]. exists 1%Z, 0%Z. rewrite place_one, two_0. repeat split; lia.
Qed.
Theorem rounding_unit : forall (f d : Z) (a r : R),
  (((0 <= d)%Z /\ (d <= 3)%Z) /\ acsl_rounding f d a r) /\ (0 <= a /\ a <= 1) -> 0 <= r /\ r <= 1.
Proof.
  intros f d a r [[D H] A]. open H. pose proof (in_one f) as I1. pose proof (in_zero f) as I0.
  assert (Down : acsl_rounds_down f a r -> 0 <= r /\ r <= 1).
  { intros [[[I L] G]|[_ G]]; [|specialize (G 0 I0); lra]. split; [apply G; split; [assumption | lra] | lra]. }
  assert (C : (d = 0 \/ d = 1 \/ d = 2 \/ d = 3)%Z) by lia. destruct C as [C|[C|[C|C]]].
  - destruct (Hn C) as [[_ G] _]. pose proof (G 0 (proj1 I0)). pose proof (G 1 (proj1 I1)). clear G Hn. sides.
  - auto.
  - destruct (Hu C) as [[[I L] G]|[_ G]]; [|specialize (G 1 I1); lra].
    split; [lra | apply G; split; [assumption | lra]].
  - apply Down, Hz; [assumption | lra].
Qed.
(* Between two numbers with a digit to spare there is another one. *)
Lemma place_between f n k m j : (k <= j)%Z ->
  (- acsl_format_most f <= 2 * n <= acsl_format_most f)%Z -> (acsl_format_least f < k)%Z ->
  (- acsl_format_most f <= 2 * m <= acsl_format_most f)%Z ->
  acsl_at_place n k < acsl_at_place m j ->
  exists i l, (- acsl_format_most f <= i <= acsl_format_most f)%Z /\ (acsl_format_least f <= l)%Z /\
    acsl_at_place n k < acsl_at_place i l < acsl_at_place m j.
Proof.
  intros J N K M H. rewrite (place_coarser m j k J) in *. set (w := (m * 2 ^ (j - k))%Z) in *.
  pose proof (place_lt_inv _ _ _ H) as L.
  assert (S : forall p q l, (p < q)%Z -> acsl_at_place p l < acsl_at_place q l).
  { intros p q l Hpq. unfold acsl_at_place. apply IZR_lt in Hpq. pose proof (two_positive l). nra. }
  destruct (Z.eq_dec (2 * n) (acsl_format_most f)) as [E|E].
  - destruct (format_facts f) as (_ & P & Q & _).
    assert (T : exists h, n = (2 * h)%Z).
    { destruct (most_half f) as (h & Hh & Hp). assert (n = h) by lia. subst h.
      exists (2 ^ (acsl_format_precision f - 2))%Z. apply eq_IZR. rewrite Hp, mult_IZR, <- two_whole by lia.
      rewrite <- two_next. f_equal. lia. }
    destruct T as (h & T).
    assert (W : exists v, w = (2 * v)%Z).
    { destruct (Z.eq_dec j k) as [F|F]; [subst w; rewrite F, Z.sub_diag in L; lia|].
      exists (m * 2 ^ (j - k - 1))%Z. unfold w. replace (j - k)%Z with (1 + (j - k - 1))%Z at 1 by lia.
      rewrite Z.pow_add_r by lia. lia. }
    destruct W as (v & W). exists (n + 1)%Z, k. repeat split; try lia; apply S; lia.
  - exists (2 * n + 1)%Z, (k - 1)%Z. repeat split; try lia.
    + replace k with (k - 1 + 1)%Z at 1 by lia. rewrite place_next. apply S. lia.
    + replace k with (k - 1 + 1)%Z at 2 by lia. rewrite place_next. apply S. lia.
Qed.

Lemma even_between f r s : acsl_format_number f r -> acsl_format_number f s -> acsl_even_number f r ->
  acsl_even_number f s -> r < s -> exists x, acsl_format_number f x /\ r < x < s.
Proof.
  intros (R & _) (S & _) (n & k & (N & K) & En) (m & j & (M & J) & Em) H. subst.
  assert (T : exists i l, (- acsl_format_most f <= i <= acsl_format_most f)%Z /\ (acsl_format_least f <= l)%Z /\
    acsl_at_place n k < acsl_at_place i l < acsl_at_place m j).
  { destruct (Z_le_dec k j) as [L|L].
    - apply place_between; assumption.
    - destruct (place_between f (- m) j (- n) k) as (i & l & I & O & B); try lia.
      { rewrite !at_place_sign. lra. }
      exists (- i)%Z, l. rewrite !at_place_sign in B. rewrite at_place_sign. repeat split; lia || lra. }
  destruct T as (i & l & I & O & B). exists (acsl_at_place i l). split; [|exact B].
  split; [lra|]. exists i, l. tauto.
Qed.

(* One number, and no other, is what a number is rounded to. *)
Theorem rounding_unique : forall (f d : Z) (a r s : R),
  (((0 <= d)%Z /\ (d <= 3)%Z) /\ acsl_rounding f d a r) /\ acsl_rounding f d a s -> r = s.
Proof.
  intros f d a r s ((D & (((Nr & Dr) & Ur) & Zr)) & (((Ns & Ds) & Us) & Zs)).
  assert (Directed : (acsl_rounds_down f a r -> acsl_rounds_down f a s -> r = s) /\
    (acsl_rounds_up f a r -> acsl_rounds_up f a s -> r = s)).
  { split; intros [((F & L) & G)|(E & G)] [((F' & L') & G')|(E' & G')];
      [apply Rle_antisym; auto|specialize (G' r F); lra|specialize (G s F'); lra|congruence|
       apply Rle_antisym; auto|specialize (G' r F); lra|specialize (G s F'); lra|congruence]. }
  destruct Directed as (Down & Up).
  assert (Nearest : forall p q, acsl_rounds_nearest f a p -> acsl_rounds_nearest f a q -> p < q -> False).
  { intros p q ((F & G) & E) ((F' & G') & E') H.
    assert (A : Rabs (p - a) = Rabs (q - a)) by (apply Rle_antisym; auto).
    destruct (even_between f p q F F') as (x & Fx & B).
    - apply (E q). split; [split; [exact F'|apply Rgt_not_eq; exact H]|exact A].
    - apply (E' p). split; [split; [exact F|apply Rlt_not_eq; exact H]|symmetry; exact A].
    - exact H.
    - specialize (G x Fx). revert A G. unfold Rabs.
      destruct (Rcase_abs (p - a)), (Rcase_abs (q - a)), (Rcase_abs (x - a)); intros; lra. }
  assert (C : (d = 0 \/ d = 1 \/ d = 2 \/ d = 3)%Z) by lia.
  destruct C as [C|[C|[C|C]]].
  - destruct (Rtotal_order r s) as [H|[H|H]]; [|exact H|]; exfalso; [apply (Nearest r s)|apply (Nearest s r)]; auto.
  - auto.
  - auto.
  - destruct (Rle_dec 0 a); [apply Down; [apply Zr|apply Zs]; lra || assumption|apply Up; [apply Zr|apply Zs]; lra || assumption].
Qed.
Theorem limit_above_one : forall f : Z, 1 < acsl_two (acsl_format_limit f).
Proof.
  intros f. assert (L : (1 <= acsl_format_limit f)%Z).
  { unfold acsl_format_limit. repeat destruct (Z.eq_dec f _); lia. }
  apply Rlt_le_trans with (acsl_two 1); [rewrite two_1; lra|now apply limits_rise].
Qed.
