#!/bin/sh
# Does with the wheel what a new user would do, on a system without a compiler: in_system.sh <directory of wheels>
# <mpi4py's sources> <word>. systems.py runs it inside, as an ordinary user. It prints a line for each step: "step
# <name> <seconds> ok|failed".
set -u
wheels=$1
sources=$2
work=$HOME/$3
mkdir -p "$work" || exit 1
cd "$work" || exit 1
# Spaces and non-ASCII letters must work like any other characters.
env="$work/my Übung"
failed=0

now() { date +%s.%N; }
step() {  # name, command...: shows the command's output if it fails
  name=$1
  shift
  begun=$(now)
  if "$@" >"$work/log" 2>&1 </dev/null; then verdict=ok; else verdict=failed failed=1; fi
  [ $verdict = ok ] || sed 's/^/    /' "$work/log" | tail -n 60
  echo "step $name $(echo "$(now) $begun" | awk '{ printf "%.2f", $1 - $2 }') $verdict"
}

no_compiler() { ! command -v gcc && ! command -v cc && ! command -v g++ && ! command -v clang; }
make_environment() { python3 -m venv "$env"; }
install() { "$env/bin/python" -m pip --disable-pip-version-check install --no-index --find-links "$wheels" headrace mpi4py; }
says_headrace() {
  "$env/bin/mpiexec" --version && "$env/bin/mpirun" --version &&
    "$env/bin/python" -c 'from mpi4py import MPI; v = MPI.Get_library_version(); print(v); assert "Headrace" in v'
}
first_message() {  # from a program without imports to a received message
  "$env/bin/mpiexec" --timeout 60 -n 2 "$env/bin/python" -c '
from mpi4py import MPI
world = MPI.COMM_WORLD
if world.rank == 0: world.send("hello", 1)
else: assert world.recv(source=0) == "hello"'
}
hello() {
  "$env/bin/mpiexec" --timeout 60 -n 4 "$env/bin/python" -m mpi4py.bench helloworld >said && sort said &&
    [ "$(grep -c '^Hello, World! I am process [0-3] of 4' said)" = 4 ]
}
halo3d() {  # checks its result element by element
  "$1/bin/mpiexec" --timeout 120 -n 8 "$1/lib/headrace/bench/halo3d" >said 2>&1
  status=$?
  cat said
  [ $status = 0 ] && grep -qi valid said
}
mpi4py_suite() {
  cd "$sources" || return 1
  "$env/bin/mpiexec" --timeout 500 -n 2 "$env/bin/python" -B test/main.py -q -i test_p2p_buf -i test_p2p_obj -i test_cco_buf -i test_cco_obj \
    >"$work/said" 2>&1
  status=$?
  cd "$work" || return 1
  cat said
  echo "ran $(sed -n 's/^Ran \([0-9]*\) tests.*/\1/p' said | head -n 1)" >&3
  [ $status = 0 ] && grep -q '^Ran [1-9][0-9][0-9]' said
}
info() { "$env/bin/headrace" info >said && cat said && ! grep -q missing said; }
doctor() {  # tolerates warnings about the machine
  "$env/bin/headrace" doctor --all
  [ $? -le 1 ]
}
files_complete() { "$env/bin/headrace" doctor --only files --all >said; status=$?; cat said; [ $status = 0 ] && grep -q 'files of the installation are there' said; }
mpicc_says_what_it_wants() {
  echo 'int main(void) { return 0; }' >empty.c
  if "$env/bin/mpicc" empty.c >said 2>&1; then cat said; return 1; fi
  cat said
  grep -q 'mpicc: .*cc' said
}
moved() {  # the library and the launcher, and mpi4py in the environment's Python
  mv "$env" "$work/moved ünv" && halo3d "$work/moved ünv" &&
    "$work/moved ünv/bin/mpiexec" --timeout 60 -n 2 "$work/moved ünv/bin/python" -m mpi4py.bench helloworld
  status=$?
  mv "$work/moved ünv" "$env"
  return $status
}
half_removed() {  # the doctor names the missing files
  mv "$env/lib/libmpi.so.12" kept
  "$env/bin/headrace" doctor --only files >said
  status=$?
  mv kept "$env/lib/libmpi.so.12"
  cat said
  [ $status = 2 ] && grep -q 'lib/libmpi.so.12' said
}
uninstall() {
  "$env/bin/python" -m pip --disable-pip-version-check uninstall -y headrace && [ ! -e "$env/bin/mpiexec" ] && [ ! -e "$env/bin/headrace" ] ||
    return 1
  # pip leaves empty directories.
  find "$env" -type f \( -name '*headrace*' -o -name 'libmpi*' -o -name 'mpi*' \) ! -path '*/site-packages/mpi4py/*' | grep . && return 1
  return 0
}

exec 3>&1
# Eight ranks on fewer cores are expected here.
export HEADRACE_OVERSUBSCRIBE=quiet
step no-compiler no_compiler
step environment make_environment
step install install
echo "size $(du -sk "$env/bin" "$env/lib/headrace" "$env/include" "$env/share" "$env"/lib/lib* "$env"/lib/python3*/site-packages/headrace | awk '{ s += $1 } END { print s }')"
step versions says_headrace
step first-message first_message
step hello hello
step halo3d halo3d "$env"
step mpi4py-suite mpi4py_suite
step info info
step doctor doctor
step files-complete files_complete
step no-compiler-said mpicc_says_what_it_wants
step moved moved
step half-removed half_removed
step uninstall uninstall
exit $failed
