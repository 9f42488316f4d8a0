#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# freefem++ 4.11+dfsg1-3, Debian 12.
# One would guess: `ofstream f("A.txt"); f << A;` writes every sparse matrix in one form.
# What happens: the way to set boundary values decides the form. With the default penalty, and with tgv = -2, the file
# counts rows and columns from 0, in coordinates. With tgv = -1 it counts from 1, row by row, under another header. A
# reader of one form shifts the other's matrix by a row and a column without an error. Entries have 20 digits, and
# b, written by `f << b`, has 10.
# Seen on 2026-11-28: Laplacian on a square of 2 x 2, boundary values on one side.
. "$(dirname "$0")/common.sh"
from_debian freefem++ 4.11+dfsg1-3
cat >square.edp <<'END'
mesh Th = square(2, 2);
fespace Vh(Th, P1);
Vh u, v;
varf a(u, v) = int2d(Th)(dx(u)*dx(v) + dy(u)*dy(v)) + on(1, u=1);
varf l(u, v) = int2d(Th)(v/3) + on(1, u=1);
matrix A = a(Vh, Vh); { ofstream f("penalty.txt"); f << A; }
matrix B = a(Vh, Vh, tgv=-1); { ofstream f("rows.txt"); f << B; }
matrix C = a(Vh, Vh, tgv=-2); { ofstream f("both.txt"); f << C; }
real[int] b = l(0, Vh); { ofstream f("b.txt"); f << b; }
END
FreeFem++ -nw -v 0 square.edp >log 2>&1 || { cat log; exit 1; }
for name in penalty rows both; do
    awk -v name=$name '!/^#/ && NF == 3 { if (!n++ || $1 < low) low = $1 } END { print name, "counts from", low }' \
        $name.txt
done >seen
grep -m 1 -o '1.0*199e+30' penalty.txt >>seen
grep -o -m 1 '0\.04166666667' b.txt | head -n 1 >>seen
same seen <<'END'
penalty counts from 0
rows counts from 1
both counts from 0
1.0000000000000000199e+30
0.04166666667
END
