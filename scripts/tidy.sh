#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tidy.sh BUILD_DIR: clang-tidy over the library and the tool, with the compile commands of BUILD_DIR (made by clang).
# In three sources, whose kernels are made from one text for each type, the analyzer would follow every instance: it
# takes 220 s of a processor there, and less than 15 s in any other *_host.c.
set -eu
cd "$(dirname "$0")/.."
# The analyzer leaves a function after so many states, as in its quick mode: that takes half of the time.
limit="--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes=75000"
tidy="xargs -r -n 4 -P ${JOBS:-$(nproc)} clang-tidy -p $1 --quiet $limit"
many='src/format/(csr/csr|csr/csr_layers|ellr/ellr)_host\.c$'
find src cli -name '*.c' | grep -Ev "$many" | $tidy
find src cli -name '*.c' | grep -E "$many" | $tidy --checks='-clang-analyzer-*'
