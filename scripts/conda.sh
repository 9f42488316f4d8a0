#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# conda.sh [CHANNEL...]: builds conda/recipe.yaml by rattler-build of PyPI, tests the package in an environment of its
# own, and leaves it in build/conda/packages. Without a CHANNEL nothing but the system's compilers, CMake and libraries
# is used, and the package is for this machine alone: that tries the recipe without a network. With one, such as
# conda-forge, compilers and libraries are the channel's. Exit 3: PyPI is not reached.
set -eu
cd "$(dirname "$0")/.."
folder=$PWD/build/conda
wanted=py-rattler-build==0.73.0

version=$(sed -n 's/^project(tessera VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
if ! grep -q "^  version: \"$version\"$" conda/recipe.yaml; then
    echo "conda/recipe.yaml has not the version $version of CMakeLists.txt." >&2
    exit 1
fi
if [ "$(cat "$folder/wanted" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$folder"
    python3 -m venv "$folder/venv" || exit 3
    "$folder/venv/bin/pip" install -q --disable-pip-version-check "$wanted" || exit 3
    echo "$wanted" >"$folder/wanted"
fi
CPU_COUNT=${JOBS:-$(nproc)} "$folder/venv/bin/python" - "$folder/packages" "$@" <<'END'
import pathlib
import sys

import rattler_build
from rattler_build.progress import SimpleProgressCallback

output, channels = sys.argv[1], sys.argv[2:]
variants = rattler_build.VariantConfig({"offline": [str(not channels).lower()]})
failed = 0
for variant in rattler_build.Stage0Recipe.from_file("conda/recipe.yaml").render(variants):
    built = variant.run_build(output_dir=output, channels=channels, progress_callback=SimpleProgressCallback())
    for path in built.packages:
        own = pathlib.Path(output).as_uri()
        tests = rattler_build.Package.from_file(path).run_tests(channel=[own, *channels])
        for test in tests:
            failed += not test.success
            print(f"test {test.test_index}: {'passed' if test.success else 'failed'}")
            if not test.success:
                print("\n".join(map(str, test.output)))
        print(f"{path}: {len(tests)} tests")
        failed += not tests
sys.exit(1 if failed else 0)
END
