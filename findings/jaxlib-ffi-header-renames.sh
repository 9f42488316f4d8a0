#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# jaxlib 0.10.2 and 0.11.2, PyPI, and gcc: handlers of XLA's foreign function interface in C, by the wheel's headers.
# One would guess: the major version of the interface is the same, so a source that compiles with one header compiles
# with the other.
# What happens: the type of a frame's first extension has another name in 0.11.2, and a source that names it no longer
# compiles. The bytes are the same: one that reads the extension through void * compiles with both.
# Seen on 2026-11-30: the minor version went from 3 to 4, the major one is 0 in both.
. "$(dirname "$0")/common.sh"

cat >named.c <<'C'
#include <xla/ffi/api/c_api.h>
int type_of(const XLA_FFI_CallFrame *frame)
{
    const XLA_FFI_Extension_Base *first = frame->extension_start;
    return first ? (int)first->type : -1;
}
C
cat >unnamed.c <<'C'
#include <xla/ffi/api/c_api.h>
#include <stdio.h>
int main(void)
{
    XLA_FFI_CallFrame frame = {.extension_start = 0};
    const void *first = frame.extension_start;
    printf("interface %d.%d, %d bytes before the type of an extension\n", XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR,
           (int)((char *)&frame.extension_start->type - (char *)first));
    return 0;
}
C
for version in 0.10.2 0.11.2; do
    python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --python-version 3.12 \
        --implementation cp --abi cp312 --platform manylinux_2_27_x86_64 -d "$version" "jaxlib==$version"
    python3 -m zipfile -e "$version"/jaxlib-*.whl "$version/files"
    include=$version/files/jaxlib/include
    compiles=no
    if gcc -std=c17 -fsyntax-only -I"$include" named.c 2>/dev/null; then compiles=yes; fi
    gcc -std=c17 -w -I"$include" unnamed.c -o unnamed
    echo "jaxlib $version: $(./unnamed); XLA_FFI_Extension_Base compiles: $compiles"
done >out
same out <<'OUT'
jaxlib 0.10.2: interface 0.3, 8 bytes before the type of an extension; XLA_FFI_Extension_Base compiles: yes
jaxlib 0.11.2: interface 0.4, 8 bytes before the type of an extension; XLA_FFI_Extension_Base compiles: no
OUT
