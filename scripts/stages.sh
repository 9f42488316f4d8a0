# SPDX-License-Identifier: Apache-2.0
# Shell functions for check.sh: named stages, their logs, and one sum of what passed and failed.
# shellcheck shell=bash

passed=0 failed=0 skipped=0 cpu_seconds=0
times=() # of each command: seconds, those of the processors, its name
jobs=${JOBS:-$(nproc)}
test_jobs=$((jobs + (jobs + 1) / 2)) # many tests wait: for processes to start, for limits of time, for threads
log_dir=${log_dir:-build/check}
mkdir -p "$log_dir"
# As the Makefile has it: ninja where it is; a build folder keeps what it was made with.
if command -v ninja >/dev/null; then export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}; fi
# An outer make's own flags (job server, directory lines) are not for the makes inside the logs.
export MAKEFLAGS=--no-print-directory

tally()
{
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}

# counts P F S: "P passed, F failed[, S skipped]"
counts()
{
    printf '%d passed, %d failed' "$1" "$2"
    if [ "$3" -gt 0 ]; then printf ', %d skipped' "$3"; fi
    printf '\n'
}

# report NAME TEXT: one aligned line
report()
{
    printf '  %-34s %s\n' "$1" "$2"
}

show_log()
{
    echo "---- $1: errors, then its end ----"
    grep -nE 'error|Error|undefined reference|FAILED|warning:' "$1" | head -n 30
    echo "----"
    tail -n 25 "$1"
    echo "----"
}

# run_logged NAME COMMAND...: runs it with output in the log; sets `log` and `took`, the time that passed and that of
# the processors
run_logged()
{
    local name=$1 status=0 TIMEFORMAT='%0R %0U %0S' real user system
    shift
    log=$log_dir/$(printf '%s' "$name" | tr -c 'A-Za-z0-9\n' '-').log
    { time "$@" >"$log" 2>&1; } 2>"$log_dir/time" || status=$?
    read -r real user system < <(tail -n 1 "$log_dir/time") # the shell may say before it what ended the command
    took="${real} s, CPU $((user + system)) s"
    cpu_seconds=$((cpu_seconds + user + system))
    times+=("$real $((user + system)) $name")
    return $status
}

# begin NAME COMMAND...: as run_logged, beside what follows; `join NAME` waits for it, and sets what run_logged sets.
begin()
{
    local name=$1 file
    file=$log_dir/$(printf '%s' "$name" | tr -c 'A-Za-z0-9\n' '-')
    run_beside "$file" "$@" &
    begun[$name]=$!
}

run_beside()
{
    local file=$1 name=$2 status=0
    shift
    log_dir=$file.beside
    mkdir -p "$log_dir"
    run_logged "$@" || status=$?
    mv "$log" "$file.log"
    echo "$status ${times[-1]% "$name"}" >"$file.end"
}

# begin_idle NAME COMMAND...: the same with what the stages leave idle, which wait for processes, limits of time and
# single threads. Those begun so run one after another.
begin_idle()
{
    local name=$1 file
    file=$log_dir/$(printf '%s' "$name" | tr -c 'A-Za-z0-9\n' '-')
    (
        renice -n 15 -p "$BASHPID" >/dev/null 2>&1
        exec 9>"$log_dir/idle.lock"
        flock 9
        run_beside "$file" "$@" 9>&-
    ) &
    begun[$name]=$!
}

declare -A begun=()

join()
{
    local name=$1 status real processors file
    file=$log_dir/$(printf '%s' "$name" | tr -c 'A-Za-z0-9\n' '-')
    wait "${begun[$name]}"
    log=$file.log
    read -r status real processors <"$file.end"
    took="${real} s beside others, CPU $processors s"
    cpu_seconds=$((cpu_seconds + processors))
    times+=("$real $processors $name")
    return "$status"
}

# stage NAME COMMAND...: one check that passes or fails as a whole
stage()
{
    local name=$1 status=0
    run_logged "$@" || status=$?
    report_stage "$name" $status
}

report_stage()
{
    if [ "$2" -eq 0 ]; then
        tally 1 0 0
        report "$1" "ok ($took)"
    else
        tally 0 1 0
        report "$1" "FAILED ($took)"
        show_log "$log"
    fi
    return "$2"
}

# optional_stage NAME REASON COMMAND...: as stage, but exit 3 says that the machine lacks what it needs
optional_stage()
{
    local name=$1 reason=$2 status=0
    shift 2
    run_logged "$name" "$@" || status=$?
    report_optional "$name" "$reason" $status
}

# join_stage NAME: the end of one that was begun
join_stage()
{
    local status=0
    if [ -z "${begun[$1]:-}" ]; then return 1; fi # what it needs has failed
    join "$1" || status=$?
    report_stage "$1" $status
}

# join_optional NAME REASON: the same, where exit 3 says that the machine lacks what it needs
join_optional()
{
    local status=0
    join "$1" || status=$?
    report_optional "$1" "$2" $status
}

report_optional()
{
    if [ "$3" -eq 3 ]; then
        skip "$1" "$2 ($log)"
    else
        report_stage "$1" "$3"
    fi
}

skip()
{
    tally 0 0 1
    report "$1" "skipped: $2"
}

# test_stage NAME BUILD_DIR [CTEST OPTION...]: ctest, counted by the test cases inside each program
test_stage()
{
    local name=$1 dir=$2 status=0
    shift 2
    run_logged "$name" ctest --test-dir "$dir" -V -j "$test_jobs" "$@" || status=$?
    # shellcheck disable=SC2046 # three numbers
    set -- $(awk -f scripts/count_tests.awk "$log")
    # A failing ctest whose log shows no failure, or a run without a single test, is a failure all the same.
    if { [ $status -ne 0 ] && [ "$2" -eq 0 ]; } || [ $(($1 + $2 + $3)) -eq 0 ]; then set -- "$1" $(($2 + 1)) "$3"; fi
    tally "$1" "$2" "$3"
    report "$name" "$(counts "$1" "$2" "$3") ($took)"
    awk -f scripts/count_tests.awk -v list=skipped "$log" | sed 's/^/      skipped: /'
    if [ "$2" -gt 0 ]; then
        awk -f scripts/count_tests.awk -v list=failed "$log" | tail -n 200
        tail -n 20 "$log"
    fi
    [ "$2" -eq 0 ]
}

# pytest_stage NAME: the tests of the Python package, counted by pytest's last line.
pytest_stage()
{
    local name=$1 status=0 line good bad missed
    run_logged "$name" bash scripts/python.sh test || status=$?
    line=$(grep -E '^[=]* ?[0-9]+ (passed|failed|skipped|error)' "$log" | tail -n 1)
    good=$(pytest_count passed "$line") bad=$(pytest_count 'failed|errors?' "$line")
    missed=$(pytest_count skipped "$line")
    if { [ $status -ne 0 ] && [ "$bad" -eq 0 ]; } || [ $((good + bad + missed)) -eq 0 ]; then bad=$((bad + 1)); fi
    tally "$good" "$bad" "$missed"
    report "$name" "$(counts "$good" "$bad" "$missed") ($took)"
    if [ "$bad" -gt 0 ]; then show_log "$log"; fi
    [ "$bad" -eq 0 ]
}

# pytest_count WORDS LINE: the sum of the numbers before these words
pytest_count()
{
    grep -oE "[0-9]+ ($1)" <<<"$2" | awk '{ sum += $1 } END { print sum + 0 }'
}

# Stages in their order, a line each: what stands before the colon of a name is the stage.
print_times()
{
    report "stage" "seconds    CPU"
    printf '%s\n' "${times[@]}" | awk '
        {
            name = $0
            sub(/^[0-9]+ [0-9]+ /, "", name)
            sub(/:.*/, "", name)
            if (!(name in real)) { order[++count] = name }
            real[name] += $1
            cpu[name] += $2
        }
        END { for (i = 1; i <= count; i++) { printf "  %-34s %7d %6d\n", order[i], real[order[i]], cpu[order[i]] } }'
    report "all stages" "$(printf '%7d %6d' "$SECONDS" "$cpu_seconds")"
}

# The times, then the closing line, alone on it, and the exit status that goes with it.
finish()
{
    print_times
    counts $passed $failed $skipped
    [ $failed -eq 0 ]
}
