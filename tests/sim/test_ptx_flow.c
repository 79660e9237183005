/* Compares reconvergence points with their definition. */
#include "ptx_check.h"

enum { MOST = 40 };

/* Returns true if the exit can be reached from `from` without passing `without`. The exit is the node with the number
 * `insn_count`. */
static bool reaches(const ptx_function *function, uint32_t from, uint32_t without)
{
    bool seen[MOST + 1] = {false};
    uint32_t stack[MOST * 8], top = 0;
    stack[top++] = from;
    while (top) {
        uint32_t at = stack[--top];
        if (at == without || seen[at])
            continue;
        seen[at] = true;
        if (at == function->insn_count)
            return true;
        const ptx_insn *insn = &function->insns[at];
        bool leave = insn->op == PTX_OP_RET || insn->op == PTX_OP_EXIT || insn->op == PTX_OP_TRAP;
        bool branch = insn->op == PTX_OP_BRA || insn->op == PTX_OP_BRX;
        if (leave)
            stack[top++] = function->insn_count;
        if (insn->op == PTX_OP_BRA)
            stack[top++] = insn->operands[0].index;
        for (uint32_t i = 0; insn->op == PTX_OP_BRX && i < insn->operands[1].count; i++)
            stack[top++] = function->elements[insn->operands[1].index + i].index;
        if ((!leave && !branch) || insn->guard != PTX_NO_PRED)
            stack[top++] = at + 1;
    }
    return false;
}

/* Returns the immediate post-dominator by its definition: the first point that every path from the branch to the exit
 * passes. Instructions in a row without a branch or label count as one point, which is their first instruction. */
static uint32_t slow_reconverge(const ptx_function *function, uint32_t branch)
{
    uint32_t best = function->insn_count;
    if (!reaches(function, branch, UINT32_MAX))
        return best;
    for (uint32_t d = 0; d < function->insn_count; d++) {
        if (d == branch || reaches(function, branch, d))
            continue;
        /* d is a post-dominator; it is the immediate one if all other post-dominators post-dominate d */
        if (!reaches(function, d, best) || best == function->insn_count)
            best = best == function->insn_count || !reaches(function, d, best) ? d : best;
    }
    return best;
}

static void compare(const char *text)
{
    ptx_module *module = ptx_good(text);
    const ptx_function *k = ptx_find(module, "k");
    CU_ASSERT_FATAL(k->insn_count <= MOST);
    for (uint32_t i = 0; i < k->insn_count; i++) {
        if (k->insns[i].op != PTX_OP_BRA && k->insns[i].op != PTX_OP_BRX)
            continue;
        uint32_t want = slow_reconverge(k, i);
        if (k->insns[i].reconverge != want)
            fprintf(stderr, "%s\nline %u: %u, not %u\n", text, k->insns[i].line, k->insns[i].reconverge, want);
        CHECK(k->insns[i].reconverge == want);
    }
    ptx_free(NULL, module);
}

static void test_shapes(void)
{
    ptx_module *module =
        ptx_good(PTX_KERNEL("@%p1 bra B; mov.b32 %r1, 1; bra C; B: mov.b32 %r1, 2; C: mov.b32 %r2, 3;\n"
                            "L: add.u32 %r1, %r1, 1; @%p2 bra L; mov.b32 %r3, 1;\n"
                            "@%p3 exit; @%p4 bra E; mov.b32 %r4, 1; E:"));
    const ptx_insn *insns = ptx_find(module, "k")->insns;
    CHECK(insns[0].reconverge == 4 && insns[2].reconverge == 4 && insns[6].reconverge == 7);
    CHECK(insns[9].reconverge == 11);
    ptx_free(NULL, module);
    /* Two paths that end separately meet at the exit. If a branch never leaves its loop, its paths have no point where
     * they meet. */
    module = ptx_good(PTX_KERNEL("@%p1 bra B; ret; B: exit; L: @%p1 bra L; bra L;"));
    const ptx_function *k = ptx_find(module, "k");
    CHECK(k->insns[0].reconverge == k->insn_count && k->insns[3].reconverge == k->insn_count);
    ptx_free(NULL, module);
    module = ptx_good(PTX_KERNEL("t: .branchtargets A, B, C, A; brx.idx %r1, t; A: mov.b32 %r1, 1; bra D;\n"
                                 "B: mov.b32 %r1, 2; C: bra D; D: @%p1 brx.idx %r1, t;"));
    k = ptx_find(module, "k");
    CHECK(k->insns[0].operands[1].kind == PTX_OPERAND_TARGETS && k->insns[0].operands[1].count == 4);
    CHECK(k->elements[k->insns[0].operands[1].index + 2].index == 4);
    CHECK(k->insns[0].reconverge == 5);
    ptx_free(NULL, module);
    /* Two lists of targets follow each other. A list is not an instruction, so the lanes meet at the instruction after
     * both lists. */
    module = ptx_good(PTX_KERNEL("t: .branchtargets A, B; u: .branchtargets C, D; mov.b32 %r1, 0; brx.idx %r1, t;\n"
                                 "A: brx.idx %r1, u; B: brx.idx %r1, u; C: mov.b32 %r1, 1; bra D;\n"
                                 "D: mov.b32 %r1, 2; ret;"));
    k = ptx_find(module, "k");
    CHECK(k->insns[1].reconverge == 6 && k->insns[2].reconverge == 6);
    ptx_free(NULL, module);
}

static void test_random(void)
{
    uint32_t state = 12345;
    for (int round = 0; round < 3000; round++) {
        char text[8192];
        int at = sprintf(text, "%s", PTX_KERNEL_HEAD);
        state = state * 1664525 + 1013904223;
        int count = 2 + (int)(state >> 24) % 14;
        for (int i = 0; i < count; i++) {
            int t[3];
            for (int k = 0; k < 3; k++) {
                state = state * 1664525 + 1013904223;
                t[k] = (int)(state >> 16) % (count + 1);
            }
            state = state * 1664525 + 1013904223;
            at += sprintf(text + at, "L%d: ", i);
            /* each instruction ends a block, so that the start of a block is a separate point */
            switch (state >> 28) {
            case 0:
            case 1: at += sprintf(text + at, "bra L%d;\n", t[0]); break;
            case 2: at += sprintf(text + at, "ret;\n"); break;
            case 3: at += sprintf(text + at, "@%%p1 exit;\n"); break;
            case 4:
                at += sprintf(text + at, "T%d: .branchtargets L%d, L%d, L%d; brx.idx %%r1, T%d;\n", i, t[0], t[1], t[2],
                              i);
                break;
            default: at += sprintf(text + at, "@%%p1 bra L%d;\n", t[0]); break;
            }
        }
        sprintf(text + at, "L%d: ret; }\n", count);
        compare(text);
    }
}

/* A text has several lists of targets. The post-dominator of each list is the next list, so all lanes meet at the
 * end. */
static void test_chain(void)
{
    enum { COUNT = 60000 };
    kiln__text text = {0};
    kiln__text_puts(&text, PTX_HEAD ".entry k() {\n.reg .b32 %r;\n");
    for (unsigned k = 0; k <= COUNT; k++)
        kiln__text_printf(&text, "L%u: .branchtargets A%u, B%u;\n", k, k, k);
    for (unsigned k = 0; k < COUNT; k++)
        kiln__text_printf(&text, "A%u: brx.idx %%r, L%u; B%u: brx.idx %%r, L%u;\n", k, k + 1, k, k + 1);
    kiln__text_printf(&text, "A%u: ret; B%u: ret; }\n", COUNT, COUNT);
    ptx_module *module = ptx_good(kiln__text_get(&text));
    const ptx_function *k = ptx_find(module, "k");
    CHECK(k->insn_count == 2 * COUNT + 2 && k->insns[0].reconverge == k->insn_count);
    CHECK(k->insns[2 * COUNT - 1].reconverge == k->insn_count);
    ptx_free(NULL, module);
    kiln__text_free(&text);
}

static const check_case cases[] = {{"shapes", test_shapes}, {"random", test_random}, {"chain", test_chain}};
KILN_SUITE("sim.ptx_flow", cases)
