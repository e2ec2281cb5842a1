# What the tests of several ranks share; read by them.
. "$source/tests/moe/runs.sh"
# Four ranks on any machine, whoever runs the tests.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
# One machine: shared memory. Looking for networks takes longer than most of these runs.
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader
# A rank that waits leaves its core to what else runs on the machine, the other ranks not least.
export OMPI_MCA_mpi_yield_when_idle=1
begin() { # an empty folder with a token file
  rm -rf "$folder"
  mkdir -p "$folder/text"
  cd "$folder"
  texts text/a.md text/b.md
  "$phibal" data build --out data --domain text=text/ --validation 0 >log 2>&1 || fail "data build"
}
on() { # RANKS ARGUMENT...
  ranks=$1
  shift
  "$mpirun" -np "$ranks" "$phibal" train "$@" >log 2>error
}
# Of a job that `on` runs as $pid, the shell's child: a subshell that waits for mpirun, $job, whose
# children the ranks are.
find_job() { job=$(pgrep -P $pid -x "$(basename "$mpirun")" || echo $pid); }
ranks_of_job() { pgrep -P "$job"; }
