(* Prints the program that Frama-C makes of a unit, in parts that \001 ends: each global with its contract and
   body, and of functions without a body the contract. Where something is declared, and in which file, is not
   in it: goals do not depend on that. carry.py compares two of these.

     frama-c ... FILE -load-module program.cmxs *)
open Cil_types

let part s = print_string s; print_string "\001\n"
let text printer x = Format.asprintf "%a" printer x

let () = Db.Main.extend (fun () ->
    Ast.compute ();
    List.iter (function
        | GFunDecl _ | GText _ | GPragma _ | GAsm _ -> ()
        | g -> part (text Printer.pp_global g)) (Ast.get ()).globals;
    Globals.Functions.iter (fun kf ->
        if not (Kernel_function.is_definition kf) then begin
          let spec = Annotations.funspec ~populate:false kf in
          (* Prototypes may name a parameter differently: it is named by its place. *)
          List.iteri (fun i v ->
              v.vname <- Printf.sprintf "parameter_%d" i;
              (Cil.cvar_to_lvar v).lv_name <- v.vname) (Kernel_function.get_formals kf);
          part (Format.asprintf "%s: %a@ %a" (Kernel_function.get_name kf) Printer.pp_typ
                  (Kernel_function.get_type kf) Printer.pp_funspec spec)
        end))
