/* Tests the results of ptx_parse() for texts that it accepts. */
#include "notation.h"
#include "ptx_check.h"

/* Tests that the compiled form of the table equals the text of ops.def. */
static bool is_compiled(const ptx_form *form, const char *text)
{
    ptx_form fresh;
    ptx_slot slots[PTX_MAX_SLOTS];
    bool same = ptx_form_compile(text, &fresh, slots) && fresh.slot_count == form->slot_count &&
                fresh.operand_count == form->operand_count && fresh.operands_needed == form->operands_needed;
    for (unsigned k = 0; same && k < fresh.slot_count; k++) {
        const ptx_slot *slot = &ptx_slots[form->slots[k]];
        same = memcmp(slot->mods, slots[k].mods, sizeof slot->mods) == 0 && slot->types == slots[k].types &&
               slot->spaces == slots[k].spaces && slot->optional == slots[k].optional;
    }
    return same && memcmp(form->operands, fresh.operands, fresh.operand_count * sizeof *fresh.operands) == 0;
}

/* The compiled table of instructions equals ops.def, and each name is found. */
static void test_table(void)
{
    for (unsigned op = 0; op < PTX_OP_COUNT; op++) {
        const char *const *texts = ptx_op_forms((ptx_op)op);
        unsigned count = 0;
        for (; texts[count] && count < ptx_forms[op].count; count++)
            if (!is_compiled(&ptx_forms[op].forms[count], texts[count])) {
                fprintf(stderr, "%s: %s\n", ptx_op_name((ptx_op)op), texts[count]);
                CU_FAIL("a form is not what ops.def says");
            }
        CHECK(!texts[count] && count == ptx_forms[op].count);
        CHECK(count > 0 && count <= 64);
        ptx_op found = PTX_OP_COUNT;
        CHECK(ptx_op_find(ptx_op_name((ptx_op)op), strlen(ptx_op_name((ptx_op)op)), &found));
        CHECK(found == (ptx_op)op);
        const char *later = ptx_op_later(ptx_op_name((ptx_op)op), strlen(ptx_op_name((ptx_op)op)));
        CHECK(!later || strcmp(later, ptx_op_name((ptx_op)op)) != 0);
    }
    ptx_op op;
    CHECK(ptx_op_find("cp.async.wait_all", 17, &op) && op == PTX_OP_CP_ASYNC_WAIT_ALL);
    CHECK(ptx_op_find("cp.async.ca.shared.global", 25, &op) == 8 && op == PTX_OP_CP_ASYNC);
    CHECK(!ptx_op_find("addx.u32", 8, &op));
    ptx_form form;
    ptx_slot slots[PTX_MAX_SLOTS];
    CHECK(ptx_form_compile("u32 : d0", &form, slots));
    CHECK(!ptx_form_compile("u32 : d9", &form, slots));
    CHECK(!ptx_form_compile("u33 : d0", &form, slots));
    CHECK(!ptx_form_compile("u32 d0", &form, slots));
}

/* Tests that each suffix is found by its whole name. A shorter or longer name must find nothing, unless it is another
 * suffix. */
static void test_suffixes(void)
{
    for (size_t k = 0; k < ptx_suffix_count; k++) {
        const ptx_named *one = &ptx_suffixes[k];
        char longer[64];
        CHECK(strlen(one->text) == one->length && one->length < sizeof longer - 1);
        ptx_suffix found = ptx_suffix_find(one->text, one->length);
        CHECK(found.kind == one->suffix.kind && found.value == one->suffix.value);
        CHECK(k == 0 || strcmp(ptx_suffixes[k - 1].text, one->text) < 0);
        snprintf(longer, sizeof longer, "%s~", one->text);
        CHECK(ptx_suffix_find(longer, one->length + 1).kind == PTX_SUFFIX_UNKNOWN);
    }
    ptx_type type;
    CHECK(ptx_type_find("f16x2", 5, &type) && type == PTX_F16X2);
    CHECK(ptx_type_find("f16x2", 3, &type) && type == PTX_F16);
    CHECK(!ptx_type_find("f16x2", 4, &type) && !ptx_type_find("", 0, &type) && !ptx_type_find("rn", 2, &type));
    CHECK(ptx_suffix_find("nan", 3).value == PTX_MOD_NAN_ && ptx_suffix_find("NaN", 3).value == PTX_MOD_NAN);
    CHECK(ptx_suffix_find("shared", 6).kind == PTX_SUFFIX_SPACE);
    CHECK(ptx_suffix_find("shared::cta", 11).value == PTX_MOD_SHARED_CTA);
    CHECK(ptx_suffix_find("rn\0", 3).kind == PTX_SUFFIX_UNKNOWN);
}

/* Each instruction with an address operand must declare whether it reads or writes there. */
static void test_effects(void)
{
    for (unsigned op = 0; op < PTX_OP_COUNT; op++) {
        const ptx_insn insn = {.op = (uint16_t)op};
        bool addressed = false;
        for (unsigned n = 0; n < ptx_forms[op].count; n++)
            for (unsigned k = 0; k < ptx_forms[op].forms[n].operand_count; k++)
                addressed |= ptx_forms[op].forms[n].operands[k].kind == 'a';
        if (addressed && ptx_effect_of(&insn) == PTX_EFFECT_NONE) {
            fprintf(stderr, "%s has an address and the effect NONE\n", ptx_op_name((ptx_op)op));
            CU_FAIL("an address, but no effect");
        }
    }
}

static void test_module(void)
{
    ptx_module *module = ptx_good("//\n.version 9.0\n.target sm_100a, debug\n.address_size 64\n"
                                  "# 1 \"x.cu\"\n"
                                  ".extern .shared .align 16 .b8 dyn[];\n"
                                  ".global .align 4 .b8 bytes[8] = {1, 2, 0xFF, -1};\n"
                                  ".global .u16 matrix[2][3] = {{1, 2}, {3, 4, 5}};\n"
                                  ".global .f32 reals[] = {1.5, 0f40000000, -0d3FF0000000000000, 3};\n"
                                  ".visible .global .align 8 .u64 pointer = generic(matrix)+4;\n"
                                  ".const .u64 pointers[3] = {bytes, 0, bytes-2};\n"
                                  ".func (.param .b32 r) g(.param .b32 x);\n"
                                  ".global .u64 calls[2] = {g, generic(bytes)};\n"
                                  ".global .u8 split[3] = {7, 0xFF(bytes), 0xFF00(bytes+1)};\n"
                                  ".global .v4 .f32 quad = {1.0, 2.0, 3.0, 4.0};\n"
                                  ".weak .global .align 1 .u8 flag = 1;\n"
                                  ".global .b32 a, b = 7, c[WARP_SZ];\n");
    CHECK(module->version_major == 9 && module->version_minor == 0 && module->target == 100);
    const ptx_symbol *s = ptx_symbol_of(module, "dyn");
    CHECK(s->space == PTX_SPACE_SHARED && s->linkage == PTX_EXTERN && s->bytes == 0 && s->align == 16);
    s = ptx_symbol_of(module, "bytes");
    CHECK(s->bytes == 8 && s->align == 4 && memcmp(s->init, "\1\2\377\377\0\0\0", 8) == 0 && s->function == UINT32_MAX);
    s = ptx_symbol_of(module, "matrix");
    CHECK(s->bytes == 12 && memcmp(s->init, "\1\0\2\0\0\0\3\0\4\0\5", 12) == 0);
    s = ptx_symbol_of(module, "reals");
    float reals[4];
    CU_ASSERT_EQUAL_FATAL(s->bytes, sizeof reals);
    memcpy(reals, s->init, sizeof reals);
    CHECK(reals[0] == 1.5f && reals[1] == 2.0f && reals[2] == -1.0f && reals[3] == 3.0f);
    s = ptx_symbol_of(module, "pointer");
    CHECK(s->linkage == PTX_VISIBLE && s->reloc_count == 1 && s->relocs[0].generic && s->relocs[0].addend == 4);
    CHECK_TEXT(module->symbols[s->relocs[0].index].name, "matrix");
    s = ptx_symbol_of(module, "pointers");
    CHECK(s->space == PTX_SPACE_CONST && s->reloc_count == 2 && s->relocs[1].offset == 16 && s->relocs[1].addend == -2);
    CHECK(!s->relocs[0].generic && s->relocs[0].bytes == 8);
    s = ptx_symbol_of(module, "calls");
    CHECK(s->relocs[0].function && !s->relocs[1].function && s->bytes == 16);
    CHECK_TEXT(module->functions[s->relocs[0].index].name, "g");
    s = ptx_symbol_of(module, "split");
    CHECK(s->init[0] == 7 && s->reloc_count == 2 && s->relocs[0].shift == 0 && s->relocs[0].bytes == 1);
    CHECK(s->relocs[1].shift == 8 && s->relocs[1].addend == 1 && s->relocs[1].mask == 0xFF00 &&
          s->relocs[1].offset == 2);
    s = ptx_symbol_of(module, "quad");
    CHECK(s->bytes == 16 && s->align == 16);
    CHECK(ptx_symbol_of(module, "flag")->linkage == PTX_WEAK);
    CHECK(ptx_symbol_of(module, "a")->init == NULL && ptx_symbol_of(module, "b")->init[0] == 7);
    CHECK(ptx_symbol_of(module, "c")->bytes == 128);
    ptx_free(NULL, module);
}

static void test_functions(void)
{
    ptx_module *module = ptx_good(
        PTX_HEAD ".visible .entry k(.param .u8 a, .param .align 16 .b8 b[20], .param .u64 .ptr .global .align 4 c,\n"
                 "  .param .f32 d, .param .v2 .u16 e)\n"
                 ".maxntid 128, 2\n.minnctapersm 3\n.maxnreg 40\n.reqnctapercluster 2\n{ ret; }\n"
                 ".entry empty() .reqntid 32, 1, 1 { }\n"
                 ".func (.param .align 16 .b8 r[32]) g(.param .b32 x, .param .b64 y) .noreturn;\n"
                 ".func h { ret; }\n.func h2;\n.alias h2, h;\n");
    const ptx_function *k = ptx_find(module, "k");
    static const uint64_t offsets[] = {0, 16, 40, 48, 52};
    CHECK(k->entry && k->defined && k->linkage == PTX_VISIBLE && k->param_count == 5 && k->param_bytes == 56);
    for (unsigned i = 0; i < 5; i++)
        CHECK(module->symbols[k->params[i]].offset == offsets[i]);
    CHECK(module->symbols[k->params[2]].pointer_param && module->symbols[k->params[1]].bytes == 20);
    CHECK(k->max_threads[0] == 128 && k->max_threads[1] == 2 && k->max_threads[2] == 1 && k->min_blocks == 3);
    CHECK(k->max_registers == 40 && k->req_cluster[0] == 2 && k->req_threads[0] == 0);
    CHECK(ptx_find(module, "empty")->req_threads[0] == 32 && ptx_find(module, "empty")->insn_count == 0);
    const ptx_function *g = ptx_find(module, "g");
    CHECK(!g->defined && g->noreturn && g->return_count == 1 && g->param_count == 2 && g->param_bytes == 48);
    CHECK(module->symbols[g->params[0]].bytes == 32 && module->symbols[g->params[2]].offset == 40);
    CHECK(ptx_find(module, "h2")->defined && ptx_find(module, "h2")->insns == ptx_find(module, "h")->insns);
    ptx_free(NULL, module);
}

static void test_registers(void)
{
    ptx_module *module = ptx_good(
        PTX_HEAD ".entry k() {\n.reg .b32 %r<3>, x; .reg .b64 %r1<20>;\n"
                 "mov.b32 %r2, 1;\nmov.b32 x, 2;\nmov.b64 %r115, 3;\n"
                 "{ .reg .b64 %r<2>; .reg .pred x;\nmov.b64 %r1, 4;\nmov.pred x, 1;\nmov.b32 %r2, 5; }\n"
                 "mov.b32 x, 6;\nmov.b32 %r1, 7; }\n");
    const ptx_function *k = ptx_find(module, "k");
    CHECK(k->insn_count == 8 && k->reg_count == 6);
    CHECK(k->insns[5].operands[0].index == k->insns[0].operands[0].index);
    CHECK(k->insns[6].operands[0].index == k->insns[1].operands[0].index);
    CHECK(k->insns[7].operands[0].index != k->insns[3].operands[0].index);
    CHECK(k->regs[k->insns[3].operands[0].index].type == PTX_B64);
    CHECK(k->regs[k->insns[4].operands[0].index].type == PTX_PRED);
    CHECK_TEXT(k->regs[k->insns[2].operands[0].index].name, "%r115");
    ptx_free(NULL, module);
    /* a declaration of very many registers must take no time */
    module = ptx_good(PTX_HEAD ".entry k() { .reg .b64 %r<16000000>; mov.b64 %r15999999, 1; }\n");
    CHECK(ptx_find(module, "k")->reg_count == 1);
    ptx_free(NULL, module);
}

static void test_labels(void)
{
    ptx_module *module = ptx_good(PTX_KERNEL("top: bra done;\n"
                                             "{ again: @%p1 bra done; bra again; done: }\n"
                                             "{ again: @!%p2 bra done; bra top; done: bra again; }\n"
                                             "done: bra end; ret;\nend:"));
    const ptx_insn *insns = ptx_find(module, "k")->insns;
    static const uint32_t targets[] = {6, 3, 1, 5, 0, 3, 8};
    for (unsigned i = 0; i < 7; i++)
        CHECK(insns[i].op == PTX_OP_BRA && insns[i].operands[0].index == targets[i]);
    CHECK(insns[1].guard != PTX_NO_PRED && !insns[1].guard_negate && insns[3].guard_negate);
    CHECK(insns[0].guard == PTX_NO_PRED && insns[0].line == 10 && insns[3].line == 12);
    ptx_free(NULL, module);
    module = ptx_good(PTX_HEAD ".entry k() { bra end; end: }\n");
    CHECK(ptx_find(module, "k")->insns[0].operands[0].index == 1);
    ptx_free(NULL, module);
}

static void test_operands(void)
{
    ptx_module *module = ptx_good(PTX_KERNEL("add .rn.ftz .f32 %f1, %f2, 0f3F800000;\n" /* 0 */
                                             "setp.lt.and.s32 %p1|%p2, %r1, -2, !%p3;\n"
                                             "ld.global.nc.L1::no_allocate.v2.u32 {%r1, _}, [%rd1+-8];\n"
                                             "st.shared.v4.b32 [sv], {%r1, 2, %f1, 0x80000000};\n"
                                             "mov.b64 {%r1, %r2}, %rd1;\n"
                                             "mov.u64 %rd1, gv+4;\n" /* 5 */
                                             "mov.u32 %r1, %tid.x;\n"
                                             "mul.wide.s32 %rd1, %r1, -1;\n"
                                             "atom.add.release.gpu.global.u32 _, [%rd1], 1;\n"
                                             "cvt.rzi.s64.f32 %rd1, %f1;\n"
                                             "shfl.sync.bfly.b32 %r1|%p4, %r2, 1<<2, 31, 0xffffffff;\n" /* 10 */
                                             "cp.async.cg.shared.global [sv], [%rd2], 16;\n"
                                             "mov.b16 %rs1, 0x1FFFF;\n"
                                             "ld.u8 %r1, [%rd1];\n"
                                             "mov.f64 %fd1, 0f3FC00000;\n"
                                             "ld.param.u64 %rd1, [kp+8];\n" /* 15 */
                                             "mov.u64 %rd1, f;\n"
                                             "add.f64 %fd1, %fd1, -1.25e1;\n"
                                             "ld.relaxed.sys.shared::cta.b32 %r1, [%r2];\n"
                                             "bar.red.popc.u32 %r1, 0, 64, !%p1;\n"
                                             "mad.wide.u16 %r1, %rs1, %rs2, WARP_SZ;\n" /* 20 */
                                             "lop3.b32 %r1, %r2, %r3, 0, 0xC0;"));
    const ptx_function *k = ptx_find(module, "k");
    const ptx_insn *i = k->insns;
    CHECK(ptx_has(&i[0], PTX_MOD_RN) && ptx_has(&i[0], PTX_MOD_FTZ) && !ptx_has(&i[0], PTX_MOD_SAT));
    CHECK(i[0].types[0] == PTX_F32 && i[0].types[1] == PTX_NONE && i[0].operand_count == 3 && i[0].vector == 1);
    CHECK(i[0].operands[2].kind == PTX_OPERAND_IMM && i[0].operands[2].imm == 0x3F800000);
    CHECK(i[1].operands[2].imm == 0xFFFFFFFE);
    CU_ASSERT_FATAL(i[1].operands[0].pred > 0);
    CHECK_TEXT(k->regs[i[1].operands[0].index].name, "%p1");
    CHECK_TEXT(k->regs[i[1].operands[0].pred - 1].name, "%p2");
    CHECK(i[1].operands[3].negate && i[1].operands[3].type == PTX_PRED && i[1].operand_count == 4);
    CHECK(i[2].vector == 2 && i[2].space == PTX_SPACE_GLOBAL && ptx_has(&i[2], PTX_MOD_NC));
    const ptx_operand *o = &i[2].operands[0];
    CHECK(o->kind == PTX_OPERAND_VECTOR && o->count == 2 && k->elements[o->index].kind == PTX_OPERAND_REG &&
          k->elements[o->index + 1].kind == PTX_OPERAND_SINK);
    CHECK(i[2].operands[1].base == PTX_BASE_REG && i[2].operands[1].offset == -8);
    o = &i[3].operands[1];
    CHECK(o->count == 4 && k->elements[o->index + 1].imm == 2 && k->elements[o->index + 3].imm == 0x80000000);
    CHECK(i[3].operands[0].base == PTX_BASE_SYMBOL);
    CHECK_TEXT(module->symbols[i[3].operands[0].index].name, "sv");
    CHECK(i[4].operands[0].kind == PTX_OPERAND_VECTOR && k->elements[i[4].operands[0].index].type == PTX_B32);
    CHECK(i[5].operands[1].kind == PTX_OPERAND_SYMBOL && i[5].operands[1].offset == 4);
    CHECK(i[6].operands[1].kind == PTX_OPERAND_SREG && i[6].operands[1].index == PTX_SREG_TID_X);
    CHECK(i[7].operands[0].type == PTX_S64 && i[7].operands[1].type == PTX_S32 && i[7].operands[2].imm == 0xFFFFFFFF);
    CHECK(i[8].operands[0].kind == PTX_OPERAND_SINK && ptx_has(&i[8], PTX_MOD_RELEASE) && ptx_has(&i[8], PTX_MOD_GPU));
    CHECK(i[9].types[0] == PTX_S64 && i[9].types[1] == PTX_F32 && i[9].operands[1].type == PTX_F32);
    CHECK(i[10].operands[0].pred && i[10].operands[2].imm == 4 && i[10].operands[4].imm == 0xFFFFFFFF);
    CHECK(i[11].space == PTX_SPACE_SHARED && i[11].operands[2].imm == 16);
    CHECK(i[12].operands[1].imm == 0xFFFF);
    CHECK(i[13].space == PTX_SPACE_GENERIC && i[13].operands[0].type == PTX_U8);
    CHECK(i[14].operands[1].imm == 0x3FF8000000000000);
    CHECK(i[15].space == PTX_SPACE_PARAM && i[15].operands[1].offset == 8);
    CHECK(i[16].operands[1].kind == PTX_OPERAND_FUNCTION);
    CHECK(i[17].operands[2].imm == 0xC029000000000000);
    CHECK(i[18].space == PTX_SPACE_SHARED && ptx_has(&i[18], PTX_MOD_SHARED_CTA));
    CHECK(i[19].operand_count == 4 && i[19].operands[3].negate && i[19].operands[2].imm == 64);
    CHECK(i[20].operands[0].type == PTX_U32 && i[20].operands[3].imm == 32);
    CHECK(i[21].operand_count == 5 && i[21].operands[4].imm == 0xC0);
    ptx_free(NULL, module);
}

/* Tests calls in PTX: the called function, its arguments and results, and the offsets in vectors of .param
 * variables. */
static void test_calls(void)
{
    ptx_module *module = ptx_good(
        PTX_HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
                 ".func (.param .b32 r) g(.param .b32 x, .param .align 8 .b8 y[16]) { ret; }\n"
                 ".entry k() { .reg .b64 %rd<4>; .reg .b32 %r<4>;\n"
                 "{ .param .b32 p0; .param .align 8 .b8 p1[16]; .param .b32 q;\n call.uni (q), g, (p0, p1); "
                 "ld.param.b32 %r1, [q]; }\n"
                 "{ .param .b64 p0; .param .b64 p1; .param .b32 q;\n call (q), vprintf, (p0, %rd2); }\n"
                 "proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[16]);\n"
                 "{ .param .b32 p0; .param .align 8 .b8 p1[16]; .param .b32 q; call (q), %rd1, (5, p1), proto; }\n"
                 "set: .calltargets g;\n"
                 "{ .param .b32 p0; .param .align 8 .b8 p1[16]; .param .b32 q; call (q), %rd1, (p0, p1), set; }\n}\n"
                 ".func none { call none; ret; }\n");
    const ptx_function *k = ptx_find(module, "k");
    const ptx_insn *call = &k->insns[0];
    CHECK(k->frame_bytes == 28 && k->prototype_count == 2);
    CHECK(call->op == PTX_OP_CALL && call->operand_count == 3 && call->operands[0].kind == PTX_OPERAND_LIST);
    CHECK(call->operands[0].count == 1 && call->operands[2].count == 2);
    CHECK_TEXT(module->functions[call->operands[1].index].name, "g");
    const ptx_operand *argument = &k->elements[call->operands[2].index + 1];
    CHECK(argument->kind == PTX_OPERAND_SYMBOL && module->symbols[argument->index].offset == 8);
    CHECK(!module->symbols[argument->index].formal && module->symbols[argument->index].bytes == 16);
    call = &k->insns[2];
    CHECK(k->elements[call->operands[2].index + 1].kind == PTX_OPERAND_REG);
    call = &k->insns[3];
    CHECK(call->operand_count == 4 && call->operands[1].kind == PTX_OPERAND_REG);
    CHECK(call->operands[3].kind == PTX_OPERAND_PROTOTYPE && call->operands[3].index == 0);
    CHECK(k->elements[call->operands[2].index].kind == PTX_OPERAND_IMM &&
          k->elements[call->operands[2].index].imm == 5);
    const ptx_prototype *prototype = &k->prototypes[0];
    CHECK(prototype->arg_count == 2 && prototype->ret_count == 1 && prototype->arg_bytes[1] == 16);
    prototype = &k->prototypes[1];
    CHECK(prototype->arg_count == 2 && prototype->ret_bytes[0] == 4 && prototype->arg_bytes[1] == 16);
    call = ptx_find(module, "none")->insns;
    CHECK(call->operand_count == 3 && call->operands[0].count == 0 && call->operands[2].count == 0);
    ptx_free(NULL, module);
}

static void test_lines(void)
{
    ptx_module *module = ptx_good(PTX_HEAD
                                  ".entry k() {\n"
                                  ".loc 1 10 3\nbar.sync 0;\n"
                                  ".loc 2 5 1, function_name $L__info_string0, inlined_at 1 10 3\nbar.sync 0;\n"
                                  ".loc 1 12 0\nret; }\n.file 1 \"/a/k.cu\", 12, 13\n.file 2 \"/a/k.h\"\n"
                                  ".section .debug_str\n{\n$L__info_string0:\n.b8 102,111\n.b8 111,0\n}\n"
                                  ".section .debug_info { .b32 .debug_abbrev\n.b64 $L__tmp1-$L__tmp2 }\n");
    const ptx_function *k = ptx_find(module, "k");
    const ptx_loc *loc = &module->locs[k->insns[1].loc];
    CHECK(loc->file == 2 && loc->line == 5 && loc->column == 1 && loc->inlined_at == k->insns[0].loc);
    CHECK_TEXT(loc->inlined_from, "foo");
    CHECK(module->locs[k->insns[2].loc].line == 12 && module->locs[0].line == 0);
    CHECK_TEXT(module->files[1], "/a/k.cu");
    CHECK(module->file_count == 3);
    ptx_free(NULL, module);
}

static void test_memory(void)
{
    static const char text[] = PTX_KERNEL(
        "top: @%p1 bra top; mov.b64 {%r1, %r2}, %rd1; targets: .branchtargets top, end; brx.idx %r1, targets; end:\n"
        "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
        "{ .param .b32 a; .param .b32 q; call (q), %rd1, (a), proto; }\n"
        ".loc 1 10 3, function_name $L__info_string0, inlined_at 1 9 3\n") ".global .u64 t[2] = {gv, f};\n.file 1 \"k.cu\"\n.section .debug_str { $L__info_string0: .b8 102, 0 }\n";
    for (long n = 0;; n++) {
        check_oom oom = {.countdown = n};
        kiln_allocator mem = {check_oom_resize, &oom};
        kiln__text log = {.mem = &mem};
        ptx_module *module;
        ptx_result result = ptx_parse(&mem, text, sizeof text - 1, &module, &log);
        CHECK(result == (oom.failed ? PTX_MEMORY : PTX_OK));
        ptx_free(&mem, module);
        kiln__text_free(&log);
        CHECK(oom.live == 0);
        if (!oom.failed)
            break;
    }
}

static const check_case cases[] = {
    {"table", test_table},   {"suffixes", test_suffixes},   {"effects", test_effects},
    {"module", test_module}, {"functions", test_functions}, {"registers", test_registers},
    {"labels", test_labels}, {"operands", test_operands},   {"calls", test_calls},
    {"lines", test_lines},   {"memory", test_memory},
};
KILN_SUITE("sim.ptx", cases)
