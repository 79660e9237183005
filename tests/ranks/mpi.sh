#!/bin/sh
# mpi.sh KILN SPEC [MPIEXEC]: checks that a sweep by four MPI processes makes the same samples as one process, and that
# the command detects a launcher that does not belong to MPI. Exit 77: there is no MPI here.
set -u
kiln=$1 spec=$2 mpiexec=${3:-}
[ -n "$mpiexec" ] || { echo "SKIP mpi: built without an MPI (tools/setup.sh --test installs one)"; exit 77; }
"$mpiexec" --version >/dev/null 2>&1 || { echo "SKIP mpi: $mpiexec does not run"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export KILN_CACHE_DIR="$work/cache" KILN_STORE="$work/samples.db"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_base_warn_component_unused=0

# Prints the variant, status and params of each sample. A line that does not begin with a rank belongs to a message.
samples() { grep '^[0-9][0-9]*,[a-z]*,KILN_' "$1" | cut -d, -f2,3,27-29 | sort; }

"$kiln" tune "$spec" -d sim --no-store --csv "$work/one.csv" >/dev/null 2>"$work/err" || { cat "$work/err"; exit 1; }
"$mpiexec" -n 4 "$kiln" tune "$spec" -d sim --csv "$work/four.csv" >"$work/out" 2>"$work/err"
code=$?
[ "$code" = 0 ] || { echo "FAIL: the job ended with $code"; cat "$work/out" "$work/err"; exit 1; }
samples "$work/one.csv" >"$work/one"
samples "$work/four.csv" >"$work/four"
[ -s "$work/one" ] || { echo "FAIL: no samples"; exit 1; }
diff "$work/one" "$work/four" || { echo "FAIL: one process and four made different samples"; exit 1; }

# Sets the variables of a launcher that does not belong to this MPI.
SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 "$kiln" tune "$spec" -d sim --no-store >"$work/out" 2>&1 && { echo "FAIL: a mis-launch went on"; exit 1; }
grep -q -e "Slurm's srun started 2 tasks, but .* sees 1" -e 'Open MPI needs `srun --mpi=pmix`' "$work/out" || { echo "FAIL: the mis-launch is not named"; cat "$work/out"; exit 1; }
echo "ok: $(wc -l <"$work/four") samples by $("$mpiexec" --version 2>&1 | head -1)"
