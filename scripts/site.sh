#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# site.sh [check]: the site in build/site, of docs/, the public headers and the Python package. Sphinx and its tools
# come from PyPI into build/site-tools at the versions of scripts/site/requirements.txt. A warning is an error.
# check: opens the site in headless Chromium (scripts/site/check.py). Exit 3: the tools cannot be had here.
set -eu
cd "$(dirname "$0")/.."
tools=$PWD/build/site-tools
wanted=scripts/site/requirements.txt

prepare()
{
    cmp -s $wanted "$tools/wanted" && return
    rm -rf "$tools"
    python3 -m venv "$tools" || exit 3
    "$tools/bin/pip" install -q --disable-pip-version-check --retries 1 --timeout 15 -r $wanted || exit 3
    cp $wanted "$tools/wanted"
}

# Of the tools whose scripts and styles are in the site.
licenses()
{
    local name file
    mkdir -p "$1"
    for name in sphinx furo sphinx_copybutton myst_nb snowballstemmer pygments; do
        for file in "$tools"/lib/python3*/site-packages/"$name"-*.dist-info/{,licenses/}{LICENSE,COPYING}*; do
            if [ -f "$file" ]; then cp "$file" "$1/$name.txt"; fi
        done
    done
}

build()
{
    local work=build/site-work new=build/site-work/site
    rm -rf $work
    mkdir -p $work
    doxygen scripts/site/Doxyfile
    "$tools/bin/python" scripts/site/stage.py $work/source
    "$tools/bin/python" -m sphinx -E -q -W --keep-going -b html -d $work/doctrees -c scripts/site $work/source $new
    licenses $new/licenses
    rm -rf $new/.buildinfo $new/.nojekyll build/site
    if git diff --quiet HEAD 2>/dev/null; then git rev-parse HEAD >$new/commit; fi # scripts/dist.sh asks for it
    mv $new build/site
    echo "build/site/index.html: $(find build/site -name '*.html' | wc -l) pages, $(du -sh build/site | cut -f 1)B"
}

prepare
case "${1:-}" in
'') build ;;
check) "$tools/bin/python" scripts/site/check.py build/site ;;
*)
    sed -n '3,5p' "$0"
    exit 2
    ;;
esac
