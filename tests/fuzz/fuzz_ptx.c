/* Parses any bytes as PTX text, which ptx_parse() must accept or refuse. If it accepts them, the result keeps the
 * promises of ptx.h on which the interpreter relies. */
#include <stdlib.h>

#include "ptx.h"

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

// Checks that every index of an operand is inside its table.
static void check_operand(const ptx_module *module, const ptx_function *function, const ptx_operand *operand)
{
    switch (operand->kind) {
    case PTX_OPERAND_REG: WANT(operand->index < function->reg_count); break;
    case PTX_OPERAND_SREG: WANT(operand->index < PTX_SREG_COUNT); break;
    case PTX_OPERAND_SYMBOL: WANT(operand->index < module->symbol_count); break;
    case PTX_OPERAND_ADDRESS:
        WANT(operand->base != PTX_BASE_REG || operand->index < function->reg_count);
        WANT(operand->base != PTX_BASE_SYMBOL || operand->index < module->symbol_count);
        break;
    case PTX_OPERAND_LABEL: WANT(operand->index <= function->insn_count); break;
    case PTX_OPERAND_FUNCTION: WANT(operand->index < module->function_count); break;
    case PTX_OPERAND_PROTOTYPE: WANT(operand->index < function->prototype_count); break;
    case PTX_OPERAND_VECTOR:
    case PTX_OPERAND_TARGETS:
    case PTX_OPERAND_LIST:
        WANT(operand->index <= function->element_count);
        WANT(operand->count <= function->element_count - operand->index);
        for (uint32_t i = 0; i < operand->count; i++) {
            const ptx_operand *element = &function->elements[operand->index + i];
            WANT(element->kind != operand->kind);
            check_operand(module, function, element);
        }
        break;
    case PTX_OPERAND_IMM:
    case PTX_OPERAND_SINK: break;
    default: abort();
    }
    WANT(operand->pred <= function->reg_count);
    WANT(operand->type < PTX_TYPE_COUNT);
}

static void check_function(const ptx_module *module, const ptx_function *function)
{
    for (uint32_t i = 0; i < function->param_count + function->return_count; i++) {
        const ptx_symbol *symbol = &module->symbols[function->params[i]];
        WANT(symbol->space == PTX_SPACE_PARAM && symbol->formal);
        WANT(symbol->offset % symbol->align == 0 && symbol->offset + symbol->bytes <= function->param_bytes);
    }
    WANT(function->defined || function->insn_count == 0);
    for (uint32_t i = 0; i < function->insn_count; i++) {
        const ptx_insn *insn = &function->insns[i];
        WANT(insn->op < PTX_OP_COUNT && insn->loc < module->loc_count);
        WANT(insn->guard == PTX_NO_PRED || function->regs[insn->guard].type == PTX_PRED);
        if (insn->op == PTX_OP_BRA || insn->op == PTX_OP_BRX)
            WANT(insn->reconverge <= function->insn_count);
        for (unsigned k = 0; k < insn->operand_count; k++)
            check_operand(module, function, &insn->operands[k]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ptx_module *module;
    kiln__text log = {0};
    ptx_result result = ptx_parse(NULL, (const char *)data, size, &module, &log);
    WANT((result == PTX_OK) == (module != NULL));
    WANT(result == PTX_OK || result == PTX_MEMORY || log.length);
    for (uint32_t i = 0; module && i < module->function_count; i++)
        check_function(module, &module->functions[i]);
    for (uint32_t i = 0; module && i < module->symbol_count; i++) {
        const ptx_symbol *symbol = &module->symbols[i];
        WANT(symbol->align && (symbol->align & (symbol->align - 1)) == 0);
        for (size_t k = 0; k < symbol->reloc_count; k++) {
            const ptx_reloc *reloc = &symbol->relocs[k];
            WANT(reloc->offset + reloc->bytes <= symbol->bytes);
            WANT(reloc->index < (reloc->function ? module->function_count : module->symbol_count));
        }
    }
    ptx_free(NULL, module);
    kiln__text_free(&log);
    return 0;
}
