# SPDX-License-Identifier: Apache-2.0
# Threads: how many, what happens if they cannot be started, and how idle ones wait.
threads_of() { sed -n 's/.*"threads": \([0-9]*\).*/\1/p' threads.json; }

# With an affinity of one processor the default is one thread. OMP_NUM_THREADS and --threads go first.
label="affinity"
first=$(taskset -cp $$ 2>/dev/null | sed 's/.*: *\([0-9]*\).*/\1/')
if [ -n "$first" ]; then
    env -u OMP_NUM_THREADS taskset -c "$first" "$tool" solve spd.mtx --device cpu --json threads.json >/dev/null 2>&1
    json threads.json "j['threads'] == 1"
    OMP_NUM_THREADS=2 taskset -c "$first" "$tool" solve spd.mtx --device cpu --json threads.json >/dev/null 2>&1
    json threads.json "j['threads'] == 2"
    taskset -c "$first" "$tool" solve spd.mtx --device cpu --threads 3 --json threads.json >/dev/null 2>&1
    json threads.json "j['threads'] == 3"
fi

# Threads that cannot be started: the tool takes fewer, and says so. OpenMP's runtime would end the program, and so
# would OpenBLAS, which starts its own.
if [ -n "${TESSERA_FAILING_MALLOC:-}" ]; then
    for most in 0 1 3; do
        label="tessera solve --threads 8 where $most threads start"
        OPENBLAS_NUM_THREADS=1 TESSERA_FAIL_THREADS=$most LD_PRELOAD=$TESSERA_FAILING_MALLOC \
            "$tool" solve gallery:laplace2d:200 --device cpu --threads 8 --json threads.json >out 2>err
        code=$?
        [ "$code" -eq 0 ] && pass || fail "exit $code: $(head -c 200 err)"
        json threads.json "j['threads'] == $(((most + 2) / 2)) and j['converged']"
        err_has "$(((most + 2) / 2)) threads? instead of 8"
    done
fi

# Of the tool itself: a BLAS may bring GNU's beside LLVM's.
gnu_openmp()
{
    case $(OMP_DISPLAY_ENV=verbose "$tool" --version 2>&1) in
    *KMP_*) false ;;
    *GOMP_SPINCOUNT*) true ;;
    *) false ;;
    esac
}

# The same by a limit of address space: 300 stacks of 8 MB do not fit. LLVM's runtime takes more for a thread than the
# probe can see.
if [ -n "${TESSERA_FAILING_MALLOC:-}" ] && gnu_openmp; then
    label="tessera solve --threads 300 in 1 GB of address space"
    (
        ulimit -s 8192
        ulimit -v 1000000
        "$tool" solve gallery:laplace2d:200 --device cpu --threads 300 --json threads.json >out 2>err
    )
    code=$?
    [ "$code" -eq 0 ] && pass || fail "exit $code: $(head -c 200 err)"
    json threads.json "j['threads'] < 300 and j['converged']"
    err_has "[0-9]+ threads instead of 300"
fi

# Idle threads sleep soon, unless the environment says how they wait.
label="settings of gcc's OpenMP runtime"
if gnu_openmp; then
    env -u OMP_WAIT_POLICY -u OMP_NUM_THREADS OMP_DISPLAY_ENV=verbose "$tool" --version >out 2>err
    err_has "GOMP_SPINCOUNT = '1000'"
    out_has '^tessera [0-9]'
    env -u OMP_NUM_THREADS OMP_WAIT_POLICY=active OMP_DISPLAY_ENV=verbose "$tool" --version >out 2>err
    ! grep -q "GOMP_SPINCOUNT = '1000'" err && pass || fail "OMP_WAIT_POLICY of the caller was overruled"
fi
expect 2 solv spd.mtx
err_has "did you mean 'solve'"

# More threads than a context takes
expect 2 solve spd.mtx --threads 1000000
err_has 'out of range \(1 to 4096\)'
if [ "${TESSERA_SANITIZED:-0}" = 0 ]; then # sanitizers take 10 s to start the 4,096
    label="OMP_NUM_THREADS=1000000"
    OMP_NUM_THREADS=1000000 "$tool" info spd.mtx >out 2>err
    [ $? -eq 0 ] && pass || fail "exit $?: $(head -c 200 err)"
fi
