/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call of MUMPS in one precision. Included once per precision, with
 *   STRUCTURE    its structure
 *   CALL         its function
 *   NAMED(name)  the name with the precision in it
 */

static void NAMED(open)(STRUCTURE *id, mumps_symmetry symmetry)
{
    memset(id, 0, sizeof *id);
    id->sym = (MUMPS_INT)symmetry;
    id->par = 1;
    id->comm_fortran = WHOLE_WORLD;
    id->job = JOB_OPEN;
    CALL(id);
}

static mumps_reply NAMED(run)(STRUCTURE *id, mumps_step step, const mumps_arguments *a)
{
    mumps_reply reply;

    set_controls(id->icntl, step, a);
    id->job = (MUMPS_INT)step;
    id->n = (MUMPS_INT)a->n;
    id->nnz = a->nnz;
    id->irn = a->row;
    id->jcn = a->column;
    id->a = a->val;
    id->rhs = a->rhs;
    id->perm_in = a->position;
    id->nrhs = a->columns > 1 ? (MUMPS_INT)a->columns : 1;
    id->lrhs = id->n;
    CALL(id);
    reply = read_reply(id->infog, sizeof *id->a);
    reply.flops = (double)id->rinfog[0];
    return reply;
}

static void NAMED(close)(STRUCTURE *id)
{
    id->job = JOB_CLOSE;
    CALL(id);
}
