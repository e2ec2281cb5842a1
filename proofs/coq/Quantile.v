(* Quantile balancing. For fixed cut-offs the order statistic minimises the dual's part of one expert (L7); the
   histogram's quantile lies in the same bin (L8). *)
From Coq Require Import Reals Lra Lia Bool.
From Phibal Require Import Legendre Vector.
Open Scope R_scope.

(* How many of the indices below n have the property. *)
Fixpoint count n (p : nat -> bool) : nat :=
  match n with O => O | S k => (count k p + if p k then 1 else 0)%nat end.
Definition below n (r : vec) b := count n (fun i => if Rlt_dec (r i) b then true else false).
Definition up_to n (r : vec) b := count n (fun i => if Rle_dec (r i) b then true else false).
(* q is the m-th smallest of r 0 .. r (n - 1), counted from 1. *)
Definition order_statistic n (r : vec) m q :=
  (exists i, (i < n)%nat /\ r i = q) /\ (below n r q < m)%nat /\ (m <= up_to n r q)%nat.

(* What of the dual depends on the bias b of one expert, r the biases that the tokens require. *)
Definition expert_dual n (r : vec) theta b := Rsum n (fun i => Rmax 0 (b - r i)) - theta * b.

Lemma count_le n p p' : (forall i, (i < n)%nat -> p i = true -> p' i = true) -> (count n p <= count n p')%nat.
Proof.
induction n; intros H; simpl; [lia|].
assert (A : (count n p <= count n p')%nat) by (apply IHn; intros; apply H; auto; lia).
assert (B := H n (le_n _)). destruct (p n); [rewrite B; auto; lia|]. destruct (p' n); lia.
Qed.

Lemma Rsum_count n (p : nat -> bool) c : Rsum n (fun i => if p i then c else 0) = INR (count n p) * c.
Proof.
induction n; simpl; [ring|]. rewrite IHn, plus_INR. destruct (p n); simpl; ring.
Qed.

Lemma expert_dual_above n r theta b c : b <= c ->
  (INR (up_to n r b) - theta) * (c - b) <= expert_dual n r theta c - expert_dual n r theta b.
Proof.
intros H. unfold expert_dual, up_to.
assert (A : INR (count n (fun i => if Rle_dec (r i) b then true else false)) * (c - b) <=
  Rsum n (fun i => Rmax 0 (c - r i)) - Rsum n (fun i => Rmax 0 (b - r i))).
{ rewrite <- Rsum_count, <- Rsum_minus. apply Rsum_le. intros i _. destruct (Rle_dec (r i) b);
    unfold Rmax; repeat destruct Rle_dec; lra. }
lra.
Qed.

Lemma expert_dual_below n r theta b c : c <= b ->
  (theta - INR (below n r b)) * (b - c) <= expert_dual n r theta c - expert_dual n r theta b.
Proof.
intros H. unfold expert_dual, below.
assert (A : Rsum n (fun i => Rmax 0 (b - r i)) - Rsum n (fun i => Rmax 0 (c - r i)) <=
  INR (count n (fun i => if Rlt_dec (r i) b then true else false)) * (b - c)).
{ rewrite <- Rsum_count, <- Rsum_minus. apply Rsum_le. intros i _. destruct (Rlt_dec (r i) b);
    unfold Rmax; repeat destruct Rle_dec; lra. }
lra.
Qed.

Lemma order_statistic_counts n r m q : order_statistic n r m q ->
  INR (below n r q) <= INR m - 1 /\ INR m <= INR (up_to n r q).
Proof.
intros (_ & H & H'). split; [|now apply le_INR].
assert (A : (S (below n r q) <= m)%nat) by lia. apply le_INR in A. rewrite S_INR in A. lra.
Qed.

(* (L7): with m = ceil theta the m-th smallest is a minimiser, *)
Theorem order_statistic_minimises n r theta m q : INR m - 1 < theta <= INR m -> order_statistic n r m q ->
  forall b, expert_dual n r theta q <= expert_dual n r theta b.
Proof.
intros Ht Hq b. destruct (order_statistic_counts _ _ _ _ Hq) as [A B]. destruct (Rle_dec q b) as [L|L].
- assert (C := expert_dual_above n r theta q b L).
  assert (0 <= (INR (up_to n r q) - theta) * (b - q)) by (apply Rmult_le_pos; lra). lra.
- assert (C := expert_dual_below n r theta q b ltac:(lra)).
  assert (0 <= (theta - INR (below n r q)) * (q - b)) by (apply Rmult_le_pos; lra). lra.
Qed.

(* and the only one where theta is no integer. *)
Theorem order_statistic_unique_minimiser n r theta m q : INR m - 1 < theta < INR m -> order_statistic n r m q ->
  forall b, expert_dual n r theta b <= expert_dual n r theta q -> b = q.
Proof.
intros Ht Hq b H. destruct (order_statistic_counts _ _ _ _ Hq) as [A B].
destruct (Rtotal_order b q) as [L|[L|L]]; auto; exfalso.
- assert (C := expert_dual_below n r theta q b ltac:(lra)).
  assert (0 < (theta - INR (below n r q)) * (q - b)) by (apply Rmult_lt_0_compat; lra). lra.
- assert (C := expert_dual_above n r theta q b ltac:(lra)).
  assert (0 < (INR (up_to n r q) - theta) * (b - q)) by (apply Rmult_lt_0_compat; lra). lra.
Qed.

(* Where theta is an integer, all between its place and the next are. *)
Theorem order_statistics_between_minimise n r m q q' b : order_statistic n r m q -> order_statistic n r (S m) q' ->
  q <= b <= q' -> expert_dual n r (INR m) b = expert_dual n r (INR m) q.
Proof.
intros Hq Hq' Hb. apply Rle_antisym.
2: { apply order_statistic_minimises with m; auto; lra. }
destruct (order_statistic_counts _ _ _ _ Hq) as [A B].
destruct (order_statistic_counts _ _ _ _ Hq') as [A' B']. rewrite S_INR in A', B'.
destruct (Req_dec b q) as [->|N]; [lra|].
assert (C := expert_dual_below n r (INR m) b q ltac:(lra)).
assert (D : (below n r b <= below n r q')%nat).
{ apply count_le. intros i _. repeat destruct Rlt_dec; auto; lra. }
apply le_INR in D.
assert (0 <= (INR m - INR (below n r b)) * (b - q)) by (apply Rmult_le_pos; lra). lra.
Qed.

(* The numbers in bins before the j-th. *)
Definition before n (r : vec) (bin : R -> nat) j := count n (fun i => (bin (r i) <? j)%nat).

(* (L8): the bin in which the count reaches theta holds the order statistic. *)
Theorem histogram_bin n r bin theta m q j : (forall x y, x <= y -> (bin x <= bin y)%nat) ->
  INR m - 1 < theta <= INR m -> order_statistic n r m q ->
  INR (before n r bin j) < theta <= INR (before n r bin (S j)) -> bin q = j.
Proof.
intros Hbin Ht Hq Hj. destruct (order_statistic_counts _ _ _ _ Hq) as [A B].
destruct (lt_eq_lt_dec (bin q) j) as [[L|L]|L]; auto; exfalso.
- assert (C : (up_to n r q <= before n r bin j)%nat).
  { apply count_le. intros i _. destruct Rle_dec as [K|]; [|discriminate]. intros _.
    apply Nat.ltb_lt. specialize (Hbin _ _ K). lia. }
  apply le_INR in C. lra.
- assert (C : (before n r bin (S j) <= below n r q)%nat).
  { apply count_le. intros i _ K. apply Nat.ltb_lt in K. destruct Rlt_dec as [|N]; auto. exfalso.
    assert (K' := Hbin q (r i) ltac:(lra)). lia. }
  apply le_INR in C. lra.
Qed.

(* What is interpolated in that bin is at most its width away. *)
Theorem histogram_distance n r bin theta m q j low w : 0 < w -> (forall x y, x <= y -> (bin x <= bin y)%nat) ->
  (forall i, (i < n)%nat -> low + INR (bin (r i)) * w <= r i <= low + (INR (bin (r i)) + 1) * w) ->
  INR m - 1 < theta <= INR m -> order_statistic n r m q ->
  INR (before n r bin j) < theta <= INR (before n r bin (S j)) ->
  Rabs (low + (INR j + (theta - INR (before n r bin j)) /
    (INR (before n r bin (S j)) - INR (before n r bin j))) * w - q) <= w.
Proof.
intros Hw Hbin He Ht Hq Hj. assert (J := histogram_bin _ _ _ _ _ _ _ Hbin Ht Hq Hj).
destruct Hq as ((i & Hi & <-) & _). specialize (He i Hi). rewrite J in He.
set (a := INR (before n r bin j)) in *. set (b := INR (before n r bin (S j))) in *.
assert (S0 : 0 <= (theta - a) / (b - a) <= 1).
{ split; [apply Rlt_le, Rdiv_lt_0_compat; lra|]. apply Rmult_le_reg_r with (b - a); [lra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
set (s := (theta - a) / (b - a)) in *.
assert (T : 0 <= s * w <= w).
{ split; [apply Rmult_le_pos; lra|]. replace w with (1 * w) at 2 by ring. apply Rmult_le_compat_r; lra. }
apply Rabs_le. split; nra.
Qed.
