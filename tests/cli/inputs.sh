# SPDX-License-Identifier: Apache-2.0
# Small inputs, good and bad, in the working directory.
real='%%MatrixMarket matrix coordinate real'
printf '%s symmetric\n3 3 5\n1 1 4\n2 1 -1\n2 2 4\n3 2 -1\n3 3 4\n' "$real" >spd.mtx
printf '%s general\n3 3 7\n1 1 4\n1 2 1\n2 1 -1\n2 2 4\n2 3 1\n3 2 -1\n3 3 4\n' "$real" >unsym.mtx
printf '%s general\n2 2 2\n1 1 1\n2 2 -1\n' "$real" >indefinite.mtx
printf '%s general\n2 2 2\n1 2 1\n2 1 1\n' "$real" >no_diagonal.mtx
printf '%s general\n2 2 2\n1 1 1\n2 2 1\n' "$real" >identity.mtx
printf '%s general\n2 3 2\n1 1 1\n2 3 1\n' "$real" >wide.mtx
printf '%s general\n1 2 2\n1 1 1\n1 2 5.9604644775390625e-8\n' "$real" >half_eps.mtx
printf '%s general\n2 2 2\n1 1 nan\n2 2 1\n' "$real" >nan.mtx
printf '%s general\n3 3 4\n1 1 1\n1 1 2\n2 2 0\n3 3 1\n' "$real" >duplicates.mtx
printf '%s symmetric\n2 3 1\n1 1 1\n' "$real" >symmetric_rectangle.mtx
printf '%s general\n2 2 18446744073709551615\n1 1 1\n' "$real" >huge_nnz.mtx
printf '%s general\n9999999999 9999999999 1\n1 1 1\n' "$real" >huge_rows.mtx
printf '%s general\n2 2 2\n1 1 1\n2 two 1\n' "$real" >bad_token.mtx
printf '%s general\n2 2 2\n1 1 1\n3 1 1\n' "$real" >bad_index.mtx
printf '%s general\n2 2 3\n1 1 1\n2 2 1\n' "$real" >short.mtx
printf '%%%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n' >complex.mtx
printf 'hello\n' >text.mtx
: >empty.mtx
printf '%s general\n2 2 2\n1 1 4\n2 2 8\n' "$real" >two.mtx
# 40 by 40, blocks of 16 by 16: (0, 0) with two entries, (1, 0) with a large one, (2, 2) with three; mean 2,
# variance 4.5
printf '%s general\n40 40 8\n1 1 1\n16 16 -1\n17 1 7\n17 2 1\n40 33 1\n40 39 -1\n40 40 0\n33 40 2\n' "$real" >blocks.mtx
gzip -c spd.mtx >spd.mtx.gz
mkdir directory.mtx
array='%%MatrixMarket matrix array real general'
printf '%s\n3 1\n0\n0\n0\n' "$array" >zeros3.mtx
printf '%s\n3 1\n1\n2\n3\n' "$array" >b3.mtx
printf '%s\n3 1\n1\nnan\n3\n' "$array" >nan3.mtx
printf '%s\n2 1\n1\n2\n' "$array" >b2.mtx
