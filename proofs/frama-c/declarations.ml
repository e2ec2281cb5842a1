(* Prints what Frama-C takes a unit to declare, one JSON object a line, in order: logic functions and
   predicates with their bodies, axioms and lemmas with their statements, functions of C with a digest of their
   contracts, and whatever admits something without proof. gate.py decides what of it may be believed;
   coq/acsl.py translates it. It reads the typed tree from which WP makes its goals, so that no spelling and
   no macro can hide a declaration.

     frama-c ... FILE -load-script declarations.ml

   A term or predicate is a list: its sort, and what it is made of (see `term` and `predicate`). What has no
   sort of its own is ["other", text]; "names" lists every logic function that a body or statement mentions,
   and "reads" the types of the memory it reads, through whatever it is written. *)
open Cil_types

let text printer x = Format.asprintf "%a" printer x |> String.split_on_char '\n' |> List.map String.trim
                     |> String.concat " "
let string s : Json.t = `String s
let list l : Json.t = `List l
let tagged tag l = list (string tag :: l)
let type_of t = string (text Printer.pp_logic_type t)
let label l = string (text Printer.pp_logic_label l)
let place (p : location) =
  [ "file", string (Filepath.Normalized.to_pretty_string (fst p).Filepath.pos_path);
    "line", `Int (fst p).Filepath.pos_lnum ]

let rec term t : Json.t = match t.term_node with
  | TConst (Integer (n, _)) -> tagged "integer" [ string (Integer.to_string n) ]
  | TConst (LReal { r_literal; _ }) -> tagged "real" [ string r_literal ]
  | TConst (LEnum e) -> (match Cil.constFoldToInt e.eival with
      | Some n -> tagged "integer" [ string (Integer.to_string n) ]
      | None -> tagged "other" [ string (text Printer.pp_term t) ])
  | TLval (TVar v, TNoOffset) when v.lv_origin = None -> tagged "variable" [ string v.lv_name ]
  | TUnOp (op, a) -> tagged "unary" [ string (text Printer.pp_unop op); term a ]
  | TBinOp (op, a, b) -> tagged "binary" [ string (text Printer.pp_binop op); type_of t.term_type; term a; term b ]
  | TCastE (ty, a) -> tagged "cast" [ string (text Printer.pp_typ ty); term a ]
  | TLogic_coerce (ty, a) -> tagged "coerce" [ type_of ty; term a ]
  | Tapp (f, labels, l) -> tagged "apply" [ string f.l_var_info.lv_name; list (List.map label labels); list (List.map term l) ]
  | Tif (c, a, b) -> tagged "if" [ term c; term a; term b ]
  | Tat (a, l) -> tagged "at" [ label l; term a ]
  | _ -> tagged "other" [ string (text Printer.pp_term t) ]

let variable v = list [ string v.lv_name; type_of v.lv_type ]

let rec predicate p : Json.t = match p.pred_content with
  | Ptrue -> tagged "true" []
  | Pfalse -> tagged "false" []
  | Papp (f, labels, l) -> tagged "apply" [ string f.l_var_info.lv_name; list (List.map label labels); list (List.map term l) ]
  | Prel (r, a, b) -> tagged "relation" [ string (text Printer.pp_relation r); term a; term b ]
  | Pand (a, b) -> tagged "and" [ predicate a; predicate b ]
  | Por (a, b) -> tagged "or" [ predicate a; predicate b ]
  | Pimplies (a, b) -> tagged "implies" [ predicate a; predicate b ]
  | Piff (a, b) -> tagged "iff" [ predicate a; predicate b ]
  | Pnot a -> tagged "not" [ predicate a ]
  | Pif (c, a, b) -> tagged "if" [ term c; predicate a; predicate b ]
  | Pforall (l, a) -> tagged "forall" [ list (List.map variable l); predicate a ]
  | Pexists (l, a) -> tagged "exists" [ list (List.map variable l); predicate a ]
  | Pat (a, l) -> tagged "at" [ label l; predicate a ]
  | _ -> tagged "other" [ string (text Printer.pp_predicate p) ]

(* The logic functions that are applied somewhere, and the types of the memory that is read, with "allocation"
   for what \valid and its like ask. *)
class collector = object (self)
  inherit Visitor.frama_c_inplace
  val mutable names = []
  val mutable reads = []
  method names = List.sort_uniq compare names
  method reads = List.sort_uniq compare reads
  method private name f = names <- f.l_var_info.lv_name :: names
  method private read ty = reads <- text Printer.pp_logic_type ty :: reads
  method! vterm t =
    (match t.term_node with
     | Tapp (f, _, _) -> self#name f
     | TLval ((TMem _, _) as l) -> self#read (Cil.typeOfTermLval l)
     | TLval ((TVar { lv_origin = Some _; _ }, _) as l) -> self#read (Cil.typeOfTermLval l)
     | _ -> ());
    Cil.DoChildren
  method! vpredicate_node p =
    (match p with
     | Papp (f, _, _) -> self#name f
     | Pvalid _ | Pvalid_read _ | Pallocable _ | Pfreeable _ | Pfresh _ | Pobject_pointer _ | Pvalid_function _
     | Pinitialized _ | Pdangling _ -> reads <- "allocation" :: reads
     | _ -> ());
    Cil.DoChildren
end

let collected visit =
  let c = new collector in
  visit (c :> Visitor.frama_c_visitor);
  [ "names", list (List.map string c#names); "reads", list (List.map string c#reads) ]

let say fields = print_endline (Json.save_string ~pretty:false (`Assoc fields))

let rec annotation axiomatic g =
  let inside = [ "axiomatic", string axiomatic ] in
  match g with
  | Daxiomatic (name, l, _, _) -> List.iter (annotation name) l
  | Dfun_or_pred (f, p) ->
    let form, body, more = match f.l_body with
      | LBnone -> "none", `Null, []
      | LBreads l ->
        let types = List.map (fun t -> type_of t.it_content.term_type) l in
        "reads", list types, []
      | LBterm t -> "term", term t, collected (fun c -> ignore (Visitor.visitFramacTerm c t))
      | LBpred p -> "predicate", predicate p, collected (fun c -> ignore (Visitor.visitFramacPredicate c p))
      | LBinductive _ -> "inductive", `Null, []
    in
    say ([ "sort", string "function"; "name", string f.l_var_info.lv_name;
           "labels", list (List.map label f.l_labels); "parameters", list (List.map variable f.l_profile);
           "result", (match f.l_type with Some t -> type_of t | None -> `Null);
           "form", string form; "body", body ] @ more @ inside @ place p)
  | Dlemma (name, labels, _, { tp_kind; tp_statement }, _, p) ->
    let sort = match tp_kind with Admit -> "axiom" | Assert -> "lemma" | Check -> "check" in
    say ([ "sort", string sort; "name", string name; "labels", list (List.map label labels);
           "statement", predicate tp_statement ]
         @ collected (fun c -> ignore (Visitor.visitFramacPredicate c tp_statement)) @ inside @ place p)
  | Dtype (t, p) ->
    say ([ "sort", string "type"; "name", string t.lt_name;
           "body", (match t.lt_def with None -> `Null | Some _ -> string "defined") ] @ inside @ place p)
  | g -> say ([ "sort", string "other"; "name", string (text Printer.pp_global_annotation g) ] @ inside
              @ place (Cil_datatype.Global_annotation.loc g))

(* What is said without proof inside a function, and which functions of C each function's code names. *)
let calls : (string, string) Hashtbl.t = Hashtbl.create 100

class said_in_code = object (self)
  inherit Visitor.frama_c_inplace
  method! vvrbl v =
    (match self#current_kf with
     | Some kf when Cil.isFunctionType v.vtype -> Hashtbl.add calls (Kernel_function.get_name kf) v.vname
     | _ -> ());
    Cil.SkipChildren
  method! vglob_aux = function
    | GAnnot (g, _) -> annotation "" g; Cil.SkipChildren
    | _ -> Cil.DoChildren
  method private admit what p = say ([ "sort", string "admit"; "name", string what ] @ place p)
  method! vcode_annot a =
    (match a.annot_content with
     | AAssert (_, { tp_kind = Admit; _ }) | AInvariant (_, _, { tp_kind = Admit; _ }) ->
       self#admit (text Printer.pp_code_annotation a) (Cil_datatype.Code_annotation.loc a |> Option.value ~default:Cil_datatype.Location.unknown)
     | _ -> ());
    Cil.DoChildren
  method! vbehavior b =
    let of_kind what l = List.iter (fun (p : identified_predicate) ->
        if p.ip_content.tp_kind = Admit then
          self#admit (what ^ " " ^ text Printer.pp_predicate p.ip_content.tp_statement)
            p.ip_content.tp_statement.pred_loc) l in
    of_kind "requires" b.b_requires;
    of_kind "ensures" (List.map snd b.b_post_cond);
    Cil.DoChildren
end

(* A contract in parts: what callers have to keep and what may be written, and each promise by itself. One with
   behaviors is not taken apart. *)
let parts spec = match spec.spec_behavior with
  | [ b ] when b.b_name = Cil.default_behavior_name && b.b_assumes = [] ->
    let with_promises l = string (text Printer.pp_funspec { spec with spec_behavior = [ { b with b_post_cond = l } ] }) in
    let promises, rest = List.partition (fun (kind, _) -> kind = Normal) b.b_post_cond in
    [ "frame", with_promises rest; "promises", list (List.map (fun p -> with_promises [ p ]) promises) ]
  | _ -> []

let () = Db.Main.extend (fun () ->
    Ast.compute ();
    Visitor.visitFramacFileSameGlobals (new said_in_code :> Visitor.frama_c_visitor) (Ast.get ());
    Globals.Functions.iter (fun kf ->
        let spec = Annotations.funspec ~populate:false kf in
        (* Prototypes and definitions may name a parameter differently: it is named by its place. *)
        List.iteri (fun i v ->
            v.vname <- Printf.sprintf "parameter_%d" i;
            (Cil.cvar_to_lvar v).lv_name <- v.vname) (Kernel_function.get_formals kf);
        let name = Kernel_function.get_name kf in
        say ([ "sort", string "c function"; "name", string name;
               "defined", `Bool (Kernel_function.is_definition kf); "calls", list (List.map string (List.sort_uniq compare (Hashtbl.find_all calls name)));
               "contract", if Cil.is_empty_funspec spec then `Null else string (text Printer.pp_funspec spec) ]
             @ parts spec @ place (Kernel_function.get_location kf))))
