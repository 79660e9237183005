/* coverage.c - lists the instructions and special registers that the simulator knows, to show which programs can
 * run. */
#include "kiln_sim.h"
#include "ptx_internal.h"

/* Visits the opcodes of ops.def, then the refused opcodes of table.c, then the special registers. The visit ends when
 * the callback returns nonzero. */
void kiln_sim_instructions(kiln_sim_instruction_fn visit, void *user)
{
    if (!visit)
        return;
    static const struct {
        const char *name, *since;
    } registers[] = {
#define PTX_X(name, text, bytes, since) {text, since ? #since : NULL},
        PTX_SREG_MAP(PTX_X)
#undef PTX_X
    };
    for (unsigned op = 0; op < PTX_OP_COUNT; op++) {
        kiln_sim_instruction one = {
            .name = ptx_op_name((ptx_op)op), .kind = KILN_SIM_RUNS, .forms = ptx_op_forms((ptx_op)op)};
        one.since = ptx_op_since((ptx_op)op);
        while (one.forms[one.form_count])
            one.form_count++;
        if (visit(user, &one))
            return;
    }
    const char *name;
    for (unsigned k = 0; (name = ptx_op_later_name(k)) != NULL; k++)
        if (visit(user, &(kiln_sim_instruction){.name = name, .kind = KILN_SIM_REFUSED}))
            return;
    for (unsigned k = 0; k < KILN__COUNT(registers); k++)
        if (visit(user, &(kiln_sim_instruction){
                            .name = registers[k].name, .kind = KILN_SIM_REGISTER, .since = registers[k].since}))
            return;
}
