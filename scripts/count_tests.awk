# SPDX-License-Identifier: Apache-2.0
# Sums the output of `ctest -V`: prints "passed failed skipped", by test case where a program prints its own counts
# (cmocka, or a closing line "N passed, N failed[, N skipped]"), else one per program.
# With -v list=skipped: the names of skipped programs and cases instead; with -v list=failed: the output of what failed.

function close_test(id, name, verdict)
{
    if (verdict == "failed" && f[id] == 0) { f[id] = 1 }
    if (verdict == "skipped" && p[id] + s[id] == 0) { s[id] = 1; names[name] = 1 }
    if (verdict == "passed" && p[id] + f[id] + s[id] == 0) { p[id] = 1 }
    passed += p[id]; failed += f[id]; skipped += s[id]
    n = split(cases[id], parts, "\n")
    for (i = 1; i < n; i++) { names[name ": " parts[i]] = 1 }
    if (list == "failed" && f[id] > 0) { print "---- " name " ----"; printf "%s", text[id] }
}

# "12: line of output of test 12"
/^[0-9]+: / {
    id = $1; sub(/:$/, "", id)
    line = $0; sub(/^[0-9]+: /, "", line)
    text[id] = text[id] line "\n"
    if (line ~ /^\[  PASSED  \] [0-9]+ test\(s\)/) { split(line, w, " "); p[id] += w[4] }
    else if (line ~ /^\[  SKIPPED \] [0-9]+ test\(s\)/) { split(line, w, " "); s[id] += w[4]; listing[id] = 1 }
    else if (line ~ /^\[  FAILED  \] [0-9]+ test\(s\)/) { split(line, w, " "); f[id] += w[4]; listing[id] = 0 }
    else if (line ~ /^\[  SKIPPED \] / && listing[id]) { split(line, w, " "); cases[id] = cases[id] w[4] "\n" }
    else if (line ~ /^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$/) {
        split(line, w, " "); p[id] = w[1] + 0; f[id] = w[3] + 0; s[id] = w[5] + 0
    }
    next
}

# " 3/8 Test #12: name ......   Passed    0.00 sec"
/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
    line = $0; sub(/^ *[0-9]+\/[0-9]+ Test +#/, "", line)
    id = line; sub(/:.*/, "", id)
    name = line; sub(/^[0-9]+: /, "", name); sub(/ \.\..*$/, "", name)
    if (line ~ /\*\*\*Skipped/) { close_test(id, name, "skipped") }
    else if (line ~ / Passed +[0-9.]+ sec/) { close_test(id, name, "passed") }
    else { close_test(id, name, "failed") }
}

END {
    if (list == "skipped") { for (name in names) { print name | "sort" } }
    else if (list != "failed") { print passed + 0, failed + 0, skipped + 0 }
}
