# SPDX-License-Identifier: Apache-2.0
# GMRES from the command line: precisions, bases, polynomials, the paper's preset, time by phases, refusals.
problem=gallery:uniflow2d:20

for solver in gmres gmres-ir gmres-fd; do
    for way in cgs2 cgs2-delayed; do
        expect 0 solve $problem --solver $solver --orthogonalization $way --restart 25 --rtol 1e-10 --json solve.json
        json solve.json 'j["solver"] == "'$solver'" and j["converged"] and j["residual_norm"] <= j["tolerance"]'
        json solve.json 'j["options"]["orthogonalization"] == "'$way'" and j["options"]["restart"] == 25'
    done
done

# keys, and what is filled in where nothing is given
expect 0 solve spd.mtx --solver gmres --json solve.json
json solve.json 'set("restart inner_precision basis_precision precond_precision".split()) <= set(j["options"])'
json solve.json 'set("polynomial_form orthogonalization switch_at".split()) <= set(j["options"]) and "phases" in j'
json solve.json 'j["options"]["inner_precision"] == "fp64/fp64" and j["options"]["basis_precision"] == "fp64"'
json solve.json 'j["options"]["precond_precision"] is None and j["options"]["polynomial_form"] == "roots"'
json solve.json 'j["options"]["orthogonalization"] == "cgs2-delayed" and j["options"]["restart"] == 50'
json solve.json 'j["options"]["switch_at"] is None and j["phases"] is None and j["matrix_precision"] == "fp64"'
for solver in gmres-ir gmres-fd; do
    expect 0 solve spd.mtx --solver $solver --json solve.json
    json solve.json 'j["options"]["inner_precision"] == "fp32/fp32" and j["options"]["basis_precision"] == "fp32"'
done
# what the solver took is what is reported, whoever chose it
expect 0 solve spd.mtx --solver gmres --inner-precision auto --json solve.json
json solve.json 'j["options"]["inner_precision"] == "auto" and j["options"]["basis_precision"] == "fp64"'
json solve.json 'j["inner_precision"] == "fp64/fp64" and j["basis_precision"] == "fp64"'
expect 0 solve spd.mtx --solver gmres-ir --reorder rcm --basis-precision fp16 --json solve.json
json solve.json 'j["options"]["inner_precision"] == j["inner_precision"] == "fp32/fp32"'
json solve.json 'j["options"]["basis_precision"] == j["basis_precision"] == "fp16"'
out_has '^cycles +inner fp32/fp32, basis fp16, restart after 50 vectors, cgs2-delayed$'
out_has '^method +gmres-ir, .*, csr fp32( .exact.)?, '
expect 0 solve spd.mtx --solver cg --json solve.json
json solve.json 'j["options"]["inner_precision"] is None and j["options"]["basis_precision"] is None'

# inner and basis precisions
for inner in fp64 fp64/fp64 fp32 fp32/fp64 fp32/fp32 fp16/fp64 bf16/fp32 FP16; do
    expect 0 solve $problem --solver gmres-ir --inner-precision $inner --rtol 1e-10 --json solve.json
    json solve.json 'j["relative_residual"] <= 1e-10 * (1 + 1e-15)'
done
json solve.json 'j["options"]["inner_precision"] == "fp16/fp32" and j["options"]["basis_precision"] == "fp16"'
expect 0 solve $problem --solver gmres --inner-precision fp32/fp64 --json solve.json
json solve.json 'j["options"]["inner_precision"] == "fp32/fp64" and j["matrix_precision"] == "fp32"'
for basis in fp64 fp32 bf16 fp16 e4m3; do
    expect 0 solve $problem --solver gmres --basis-precision $basis --rtol 1e-9 --json solve.json
    json solve.json 'j["options"]["basis_precision"] == "'$basis'" and j["relative_residual"] <= 1e-9 * (1 + 1e-15)'
done
for bad in fp64/fp32 fp33 fp32/fp16 fp32/ /fp32 fp32/fp32/fp32 '' 'fp32 ' adaptive; do
    expect 2 solve spd.mtx --solver gmres-ir --inner-precision "$bad"
    err_has "inner-precision: '$bad' is not STORAGE or STORAGE/ARITHMETIC"
done
expect 2 solve spd.mtx --solver gmres --basis-precision fp32/fp32
err_has 'basis-precision'
expect 2 solve spd.mtx --solver gmres --basis-precision fp61
err_has "did you mean 'fp64'|did you mean 'fp16'"
expect 2 solve spd.mtx --solver gmres-ir --basis-precision fp64
err_has 'basis-precision fp64 would store what cycles compute in fp32; give fp32'
expect 2 info spd.mtx --solver gmres-ir --basis-precision fp64
err_has 'basis-precision fp64 would store what cycles compute in fp32'
expect 2 solve spd.mtx --solver gmres --inner-precision fp32/fp32 --basis-precision fp64
expect 0 solve spd.mtx --solver gmres-ir --inner-precision fp64/fp64 --basis-precision fp64
expect 2 info spd.mtx --solver fgmres --orthogonalization cgs2-delayed
err_has 'orthogonalization cgs2-delayed is not for --solver fgmres'
expect 2 info spd.mtx --solve=fgmres --orthogonalization cgs2-delayed
expect 0 info spd.mtx --solve=fgmres --orthogonalization cgs2
for given in "--solver cg" "--solver bicgstab --rtol 1e-3"; do # what the preset gives is not the caller's
    # shellcheck disable=SC2086
    expect 2 solve spd.mtx $given --preset loe
    err_has '^tessera solve: --preset loe does not fit the other options: its --orthogonalization is for --solver gmres'
done
expect 2 solve spd.mtx --solver cg --preset loe --orthogonalization cgs2
err_has '^tessera solve: --orthogonalization is for'
expect 2 solve spd.mtx --solver cg --preset tezcan-jacobi
err_has 'preset tezcan-jacobi does not fit the other options: its --steps is for'
expect 2 solve spd.mtx --solver cg --restart 5
err_has '^tessera solve: --restart is for'

# preconditioners in their own precisions
for solver in gmres gmres-ir bicgstab; do
    for precond in jacobi block-jacobi:4 polynomial polynomial:5; do
        for precision in fp64 fp32 fp16/fp64; do
            expect 0 solve $problem --solver $solver --precond $precond --precond-precision $precision --rtol 1e-10 \
                --json solve.json
            json solve.json 'j["relative_residual"] <= 1e-10 * (1 + 1e-15) and
                j["precond"].startswith("'${precond%:*}'")'
        done
    done
    json solve.json 'j["options"]["precond_precision"] == "fp16/fp64"'
    expect 0 solve $problem --solver $solver --precond block-jacobi:4 --precond-precision adaptive --json solve.json
    json solve.json 'j["options"]["precond_precision"] == "adaptive"'
done
expect 0 solve $problem --solver gmres --polynomial-form powers --precond polynomial:3 --json solve.json
json solve.json 'j["options"]["polynomial_form"] == "powers"'
for bad in 0 201 x 5.5 -1; do
    expect 2 solve spd.mtx --precond polynomial:$bad
    err_has 'is not a degree .1 to 200.'
done
expect 2 solve spd.mtx --precond jacobi --precond-precision fp64/fp32
err_has 'precond-precision'
expect 2 solve spd.mtx --precond polynomial --polynomial-form horner
err_has "polynomial-form: unknown value 'horner'; available: roots, powers"
expect 2 solve spd.mtx --solver gmres --orthogonalization householder
err_has "orthogonalization: unknown value 'householder'; available: cgs2, cgs2-delayed"

# gmres-fd: a switch that comes never leaves FP32's residual
expect 1 solve $problem --solver gmres-fd --switch-at 100000 --rtol 1e-12 --max-iterations 300 --restart 20 \
    --guard report --json solve.json
json solve.json 'j["options"]["switch_at"] == 100000 and j["relative_residual"] > 2 ** -26 and j["iterations"] == 300'
expect 0 solve $problem --solver gmres-fd --switch-at 40 --rtol 1e-12 --restart 20 --json solve.json
json solve.json 'j["options"]["switch_at"] == 40 and j["relative_residual"] <= 1e-12 * (1 + 1e-15)'

# the paper's preset
expect 0 solve $problem --preset loe --json loe.json
loe="--solver=gmres --rhs=ones --rtol=1e-10 --atol=0 --restart=50 --orthogonalization=cgs2 --max-iterations=100000"
out_has "^preset +loe: $loe --guard=report\$"
json loe.json 'j["solver"] == "gmres" and j["options"]["rtol"] == 1e-10 and j["options"]["restart"] == 50'
json loe.json 'j["options"]["orthogonalization"] == "cgs2" and j["options"]["guard"] == "report" and
    j["options"]["rhs"] == "ones"'
json loe.json 'j["options"]["max_iterations"] == 100000 and j["options"]["preset"] == "loe"'
expect 0 solve $problem --solver gmres-ir --preset loe --restart 20 --json loe.json
json loe.json 'j["solver"] == "gmres-ir" and j["options"]["restart"] == 20'

# Table III: Jacobi and blocks of 42 rows after reverse Cuthill-McKee, polynomials of degree 25
for options in '--reorder rcm --precond block-jacobi:1' '--reorder rcm --precond block-jacobi:42' \
    '--precond polynomial:25'; do
    for solver in gmres gmres-ir; do
        # shellcheck disable=SC2086
        expect 0 solve gallery:bentpipe2d:30 --solver $solver $options --rtol 1e-10 --json solve.json
        json solve.json 'j["converged"] and j["relative_residual"] <= 1e-10 * (1 + 1e-15)'
    done
done

# time by phases: it adds up to the solve's, and none is negative but by what clocks resolve
for options in '--solver cg' '--solver bicgstab --precond block-jacobi' '--solver gmres' \
    '--solver gmres --reorder rcm' '--solver gmres-ir --precond polynomial:4' \
    '--solver gmres-fd --orthogonalization cgs2'; do
    # shellcheck disable=SC2086
    expect 0 solve gallery:laplace2d:40 $options --rtol 1e-9 --timings --json time.json
    time='[0-9.]+ s \(-?[0-9]+ %\)'
    out_has "^solve +spmv $time, gemv_t .*, refinement .* other -?$time, by the (host|device).s clock"
    json time.json 'set(j["phases"]) == set("other spmv gemv_t gemv_n norm precond refinement".split())'
    json time.json 'abs(math.fsum(j["phases"].values()) - j["solve_seconds"]) <= 1e-9 * len(j["phases"])'
    json time.json 'all(v >= -1e-6 for v in j["phases"].values()) and j["phases"]["spmv"] > 0 and
        j["phases"]["refinement"] > 0'
    case $options in
    *gmres*) json time.json 'j["phases"]["gemv_t"] > 0 and j["phases"]["gemv_n"] > 0' ;;
    *) json time.json 'j["phases"]["gemv_t"] == 0 and j["phases"]["gemv_n"] == 0' ;;
    esac
    case $options in
    *precond*) json time.json 'j["phases"]["precond"] > 0' ;;
    *) json time.json 'j["phases"]["precond"] == 0' ;;
    esac
done
expect 0 solve two.mtx --solver jacobi --timings --json time.json
json time.json 'j["phases"] is None'

# what a method does not have is refused
for solver in auto cg bicgstab jacobi; do
    for option in "restart 20" "inner-precision fp32" "basis-precision fp32" "orthogonalization cgs2"; do
        # shellcheck disable=SC2086
        expect 2 solve spd.mtx --solver $solver --$option
        err_has "--${option% *} is for --solver gmres, gmres-ir, gmres-fd, fgmres or nested"
    done
done
for solver in cg gmres gmres-ir; do
    expect 2 solve spd.mtx --solver $solver --switch-at 100
    err_has '--switch-at is for --solver gmres-fd'
done
expect 2 solve spd.mtx --solver gmres --steps fp64
err_has 'steps is for --solver jacobi'
expect 2 solve spd.mtx --solver gmres --precond-precision fp32
err_has '--precond-precision needs --precond'
for precond in none jacobi polynomial; do
    expect 2 solve spd.mtx --precond $precond --precond-precision adaptive
    err_has 'precond-precision adaptive is for --precond block-jacobi'
done
expect 2 solve spd.mtx --precond jacobi --polynomial-form powers
err_has '--polynomial-form is for --precond polynomial'
expect 2 solve spd.mtx --solver gmres --format split --row-order permuted --policy mean-range

# what ran in fp32 is not called exact because the rest ran in fp64
expect 0 solve "$TESS_DATA_DIR/sherman4.mtx.gz" --solver gmres-fd --rtol 1e-10 --switch-at 5 --device cpu
out_has '^method +gmres-fd, .* csr fp32, guard repair$'
out_has '^iterations +[0-9]+, ended in fp64'
