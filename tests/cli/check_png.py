# SPDX-License-Identifier: Apache-2.0
"""check_png.py FILE EXPRESSION: the file is a whole palette PNG and the expression over p, a list of rows of (r, g, b), is true."""
import struct
import sys
import zlib


def chunks(data):
    """The file's chunks; checks signature, lengths and checksums."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, found = 8, {}
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        found[kind] = found.get(kind, b"") + body
        at += 12 + length
    assert "IEND" == kind.decode()
    return found


def paeth(left, up, corner):
    estimate = left + up - corner
    return min((abs(estimate - left), 0, left), (abs(estimate - up), 1, up), (abs(estimate - corner), 2, corner))[2]


def unfilter(kind, line, above):
    out = bytearray()
    for i, byte in enumerate(line):
        left, up, corner = (out[i - 1] if i else 0), above[i], (above[i - 1] if i else 0)
        guess = (0, left, up, (left + up) // 2, paeth(left, up, corner))[kind]
        out.append((byte + guess) & 255)
    return out


def pixels(data):
    parts = chunks(data)
    width, height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert colour == 3 and interlace == 0
    palette = [tuple(parts[b"PLTE"][i : i + 3]) for i in range(0, len(parts[b"PLTE"]), 3)]
    raw, stride = zlib.decompress(parts[b"IDAT"]), (width * depth + 7) // 8
    assert len(raw) == height * (stride + 1)
    rows, line = [], bytearray(stride)
    for y in range(height):
        start = y * (stride + 1)
        line = unfilter(raw[start], raw[start + 1 : start + 1 + stride], line)
        shifts = [(x * depth // 8, 8 - depth - x * depth % 8) for x in range(width)]
        rows.append([palette[line[byte] >> shift & ((1 << depth) - 1)] for byte, shift in shifts])
    return rows


with open(sys.argv[1], "rb") as stream:
    p = pixels(stream.read())
names = {"white": (255, 255, 255), "high": (0xD5, 0x5E, 0), "low": (0, 0x72, 0xB2), "lowest": (0, 0x9E, 0x73)}
if not eval(sys.argv[2], {"p": p, **names}):
    sys.exit("false for a picture of %d x %d" % (len(p[0]), len(p)))
