# SPDX-License-Identifier: Apache-2.0
# SciPy archives with one array that does not fit the others: each is refused by name, none is read beyond its end.
if ! "$tool" info "$here/../files/coo.npz" >/dev/null 2>&1; then
    echo "SKIPPED: this build reads no archives"
    return 0
fi
python3 - <<'PYTHON' >archives.txt
import struct, zipfile

def npy(kind, shape, values, fortran=False):
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': %s}" % (kind, fortran, shape)
    code = {"<i4": "i", "<i8": "q", "<f8": "d", "|b1": "?"}.get(kind)
    data = values if isinstance(values, bytes) else struct.pack("<%d%s" % (len(values), code), *values)
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data

def ints(*values): return npy("<i4", "(%d,)" % len(values), values)
def reals(*values): return npy("<f8", "(%d,)" % len(values), values)
def text(kind, data, shape="()"): return npy(kind, shape, data)
def blocks(count, rows, cols, fortran=False):
    return npy("<f8", "(%d, %d, %d)" % (count, rows, cols), [1.0] * (count * rows * cols), fortran)

FORMATS = {  # 2 by 4
    "csr": {"indptr": ints(0, 1, 3), "indices": ints(0, 1, 3), "data": reals(1, 2, 3)},
    "csc": {"indptr": ints(0, 1, 2, 2, 3), "indices": ints(0, 1, 1), "data": reals(1, 2, 3)},
    "coo": {"row": ints(0, 1, 1), "col": ints(0, 1, 3), "data": reals(1, 2, 3)},
    "bsr": {"indptr": ints(0, 2), "indices": ints(0, 1), "data": blocks(2, 2, 2)},
    "dia": {"offsets": ints(0, 2, -1), "data": npy("<f8", "(3, 4)", [1.0, 2, 9, 9, 9, 9, 3, 4, 5, 0, 0, 0])},
}
def write(name, expected, kind="csr", **changes):
    members = dict(FORMATS[kind], shape=ints(2, 4), format=text("|S3", kind.encode()))
    members.update(changes)
    with zipfile.ZipFile(name + ".npz", "w") as z:
        for key, data in members.items():
            if data is not None:
                z.writestr(key + ".npy", data)
    print(name, expected, sep="\t")

for format in FORMATS:
    write("sound-" + format, "", format)
write("long-data", "", data=reals(1, 2, 3, 4))
write("flags", "", data=npy("|b1", "(3,)", [True, True, True]))
write("ucs4", "", format=text("<U3", "csr".encode("utf-32-le")))
write("ucs4-big", "", format=text(">U3", "csr".encode("utf-32-be")))
write("fortran-blocks", "", "bsr", data=blocks(2, 2, 2, True))
for format, key in (("csr", "indptr"), ("csc", "indptr"), ("bsr", "indptr")):
    rows = {"csr": 2, "csc": 4, "bsr": 1}[format]
    good = [min(3, i) for i in range(rows + 1)]
    write(format + "-short-offsets", "; %d were expected" % (rows + 1), format, **{key: ints(*good[:-1])})
    write(format + "-late-offsets", "the offset 1 of a row", format, **{key: ints(1, *good[1:])})
    write(format + "-high-offsets", "the offset 9 of a row", format, **{key: ints(*good[:-1], 9)})
    write(format + "-negative-offsets", "the offset -1 of a row", format, **{key: ints(0, *[-1] * rows)})
    write(format + "-index", "the index 4 is out of range", format, indices=ints(0, 4, 1))
    write(format + "-negative-index", "the index -1 is out of range", format, indices=ints(0, -1, 1))
write("falling-offsets", "the offset 1 of a row", indptr=ints(0, 2, 1))
write("csr-short-data", "3 were expected", data=reals(1, 2))
write("csc-short-data", "3 were expected", "csc", data=reals(1, 2))
write("bsr-short-data", "8 were expected", "bsr", data=blocks(1, 2, 2))
write("coo-row", "the index 2 is out of range", "coo", row=ints(0, 1, 2))
write("coo-col", "the index 4 is out of range", "coo", col=ints(0, 1, 4))
write("coo-short-col", "3 were expected", "coo", col=ints(0, 1))
write("coo-long-data", "3 were expected", "coo", data=reals(1, 2, 3, 4))
for rows, cols in ((0, 2), (2, 0), (3, 2), (2, 3)):
    write("blocks-%d-%d" % (rows, cols), "do not divide", "bsr", data=blocks(2, rows, cols))
write("dia-count", "values; 3 were expected", "dia", offsets=ints(0, 2))
write("dia-far", "is out of range", "dia", offsets=npy("<i8", "(3,)", [0, 2, 2**40]))
write("dia-low", "is out of range", "dia", offsets=npy("<i8", "(3,)", [0, 2, -2**40]))
write("real-indices", "of integers were expected", indices=reals(0, 1, 3))
write("flat-blocks", "3 dimensions of numbers", "bsr", data=reals(*[1] * 8))
write("text-data", "of numbers were expected", data=text("|S1", b"abc", "(3,)"))
write("ucs4-data", "of numbers were expected", data=text("<U1", b"abcdefghijkl", "(3,)"))
write("no-data", "no array 'data'", data=None)
write("no-format", "no array 'format'", format=None)
write("no-shape", "no array 'shape'", shape=None)
write("lil", "in format 'lil'", format=text("|S3", b"lil"))
write("numbers-as-format", "in format ''", format=ints(1))
write("empty-format", "in format ''", format=text("|S7", b"", "(0,)"))
write("empty-format-ucs4", "in format ''", format=text("<U7", b"", "(0,)"))
write("three-sizes", "two were expected", shape=ints(2, 4, 1))
write("negative-size", "negative-size.npz", shape=ints(2, -4))
write("damaged-format", "the header should have 5 items", format=b"\x93NUMPY\x01\x00\x05\x00{")
write("damaged-data", "no .npy array", data=b"\x93NUMPX\x01\x00\x05\x00{}{}{")
coords = {"coords": npy("<i4", "(2, 3)", [0, 1, 1, 0, 1, 3]), "row": None, "col": None, "format": None}
write("coords", "", "coo", **coords)
write("coords-fill", "another fill value", "coo", **coords, fill_value=npy("<f8", "()", [1.0]))
write("coords-text-fill", "another fill value", "coo", **coords, fill_value=text("|S1", b"0"))
write("coords-two-fills", "another fill value", "coo", **coords, fill_value=reals(0, 0))
write("coords-no-fill", "", "coo", **coords, fill_value=npy("<f8", "()", [0.0]))
write("coords-short", "values; 2 were expected", "coo",
      **dict(coords, coords=npy("<i4", "(2, 2)", [0, 1, 1, 0])))
PYTHON
while IFS=$'\t' read -r name text; do
    if [ -z "$text" ]; then
        expect 0 info "$name.npz"
        continue
    fi
    expect 3 info "$name.npz"
    grep -Fq -- "$text" err && pass || fail "stderr lacks '$text': $(head -n 1 err)"
    grep -Fq -- "$name.npz" err && pass || fail "no name: $(head -n 1 err)"
done <archives.txt
# The same matrix in each format.
for name in csc coo bsr dia; do
    label="sound-$name.npz"
    "$tool" spmv "sound-$name.npz" --x ones --output "$name-y.mtx" >/dev/null 2>err && pass || fail "$(head -n 1 err)"
done
label='csr, csc and coo hold the same matrix'
"$tool" spmv sound-csr.npz --x ones --output csr-y.mtx >/dev/null
cmp -s csr-y.mtx csc-y.mtx && cmp -s csr-y.mtx coo-y.mtx && pass || fail "$(cat csr-y.mtx csc-y.mtx coo-y.mtx)"
