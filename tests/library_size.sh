#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# library_size.sh LIBRARY ARCHITECTURES: the shared library keeps within 42 MB with device code for one architecture,
# else within 78.
set -eu
library=$1 architectures=$2
case $architectures in
*\;* | all*) most=78 ;;
*) most=42 ;;
esac
bytes=$(stat -Lc %s "$library")
echo "$library: $((bytes / 1000000)) MB for $architectures, at most $most"
[ "$bytes" -le $((most * 1000000)) ]
