# SPDX-License-Identifier: Apache-2.0
# --history as a picture, --html (tests/cli/check_html.py looks at the pages).
expect 0 solve gallery:laplace2d:20 --solver cg --history h.svg --rtol 1e-8
grep -q '^<svg xmlns=' h.svg && grep -q '<title>Convergence</title>' h.svg && pass || fail 'h.svg is no titled svg'
[ "$(grep -c '<polyline' h.svg)" -eq 1 ] && pass || fail 'h.svg has not one line'
grep -q '>1e-9<' h.svg && grep -q 'class="level"' h.svg && grep -q 'class="mark"' h.svg && pass ||
    fail 'h.svg lacks a part'
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' h.svg && pass ||
    fail 'h.svg is not well formed'
expect 0 solve gallery:laplace2d:20 --solver cg --history h.png
[ "$(head -c 4 h.png | tail -c 3)" = PNG ] && [ "$(wc -c <h.png)" -gt 2000 ] && pass || fail 'h.png is no picture'
expect 0 solve gallery:laplace2d:20 --solver cg --history h.txt
head -n 1 h.txt | grep -qx 'iteration,residual_norm,relative_residual' && pass || fail 'h.txt is no table'
# nothing to draw: no iterations, residuals of zero
expect 0 solve spd.mtx --rhs zeros3.mtx --history h.svg --html zero.html
grep -q '</svg>' h.svg && pass || fail 'a solve without iterations has no picture'
grep -q 'Converged and verified' zero.html && pass || fail 'a solve without iterations has no page'
expect 5 solve nan.mtx --solver cg --html nan.html
grep -q 'Not converged' nan.html && pass || fail 'a broken solve has no page'
expect 2 solve spd.mtx --html same --json same
err_has "two outputs have the same name"
expect 2 compare spd.mtx --html -
expect 3 solve spd.mtx --html gone/page.html
absent gone
expect 3 compare spd.mtx --html directory.mtx
