/* device.c - reads the conditions that a spec or a variant sets for its device: targets and needs. */
#include <string.h>

#include "read.h"

static void read_targets(kiln__reader *r, kiln__spec_node *node, kiln__for_device *out)
{
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, &node, "'target'", &items);
    out->targets = count ? kiln__read_array(r, count, sizeof *out->targets) : NULL;
    out->target_texts = count ? kiln__read_array(r, count, sizeof *out->target_texts) : NULL;
    if (node && node->kind == KILN__LIST && count == 0)
        kiln__diag_add(r->diag, node->pos, "'target' is empty");
    for (size_t i = 0; out->targets && out->target_texts && i < count; i++) {
        const char *text = kiln__read_text(r, items[i], "an architecture in 'target'");
        if (text && strncmp(text, "sm_", 3) == 0 && kiln__target_parse(text, &out->targets[out->target_count]))
            out->target_texts[out->target_count++] = text;
        else if (text)
            kiln__diag_add(
                r->diag, items[i]->pos,
                "'%.40s' is not an architecture to compile for: write sm_80, or sm_90a (from sm_90 on), or sm_100f "
                "(from sm_100 on)",
                text);
    }
}

static void read_needs(kiln__reader *r, kiln__spec_node *node, kiln__for_device *out)
{
    kiln__spec_node *const *items;
    size_t count = kiln__read_items(r, &node, "'needs'", &items);
    if (count > KILN__MOST) {
        kiln__diag_add(r->diag, node->pos, "more than %d conditions", KILN__MOST);
        return;
    }
    out->needs = count ? kiln__read_array(r, count, sizeof *out->needs) : NULL;
    for (size_t i = 0; out->needs && i < count; i++) {
        kiln__expr *expr = kiln__read_expr(r, items[i], "a condition", 0);
        if (!expr)
            continue;
        out->needs[out->need_count++] = expr;
        for (size_t k = 0; k < kiln__expr_name_count(expr); k++)
            if (strncmp(kiln__expr_name(expr, k), "device.", 7) != 0)
                kiln__diag_add(
                    r->diag, items[i]->pos,
                    "'needs' can only use properties of the device, such as device.cc >= 90 or device.tma; '%s' is "
                    "not one, but 'where' may use it",
                    kiln__expr_name(expr, k));
    }
}

void kiln__read_for_device(kiln__reader *r, kiln__spec_node *target, kiln__spec_node *needs, kiln__for_device *out)
{
    read_targets(r, target, out);
    read_needs(r, needs, out);
}

void kiln__join_for_device(kiln__reader *r, const kiln__for_device *spec, const kiln__for_device *own,
                           kiln__for_device *both)
{
    *both = own->target_count ? *own : *spec;
    both->need_count = 0;
    both->needs = kiln__read_array(r, spec->need_count + own->need_count, sizeof *both->needs);
    for (size_t i = 0; both->needs && i < spec->need_count; i++)
        both->needs[both->need_count++] = spec->needs[i];
    for (size_t i = 0; both->needs && i < own->need_count; i++)
        both->needs[both->need_count++] = own->needs[i];
}
