/* profiles.c - device profiles that were read from files, and the figures of the selected profile. The file device.c
 * has the built-in profiles. */
#include <stdio.h>
#include <string.h>

#include "cu_objects.h"
#include "profile.h"

/* A profile stays until the process ends, because contexts may use it. */
typedef struct read_profile {
    sim_profile_data data;
    char name[256];
} read_profile;

kiln__sim_added kiln__sim_profile_add(const char *name, const char *text, size_t length, kiln__text *log)
{
    read_profile *made = strlen(name) < sizeof made->name ? kiln__calloc(NULL, 1, sizeof *made) : NULL;
    if (!made)
        return strlen(name) < sizeof made->name ? KILN__SIM_NO_ROOM : KILN__SIM_BAD_PROFILE;
    snprintf(made->name, sizeof made->name, "%s", name);
    kiln__sim_added result = sim_profile_read(text, length, name, &made->data, log) ? KILN__SIM_ADDED
                                                                                    : KILN__SIM_BAD_PROFILE;
    /* sim_resume() takes the state lock, and sim_pause() releases it. */
    sim_resume();
    for (size_t i = 0; i < sim_profile_count && result == KILN__SIM_ADDED; i++) {
        if (strcmp(sim_profiles[i].name, name) != 0)
            continue;
        result = KILN__SIM_KNOWN;
    }
    if (result == KILN__SIM_ADDED && sim_profile_count == SIM_PROFILES_MOST)
        result = KILN__SIM_NO_ROOM;
    if (result == KILN__SIM_ADDED) {
        sim_profiles[sim_profile_count] = (sim_profile){
            made->name,       made->data.title, made->data.memory, made->data.attributes, SIM_PROFILE_ATTRIBUTES,
            &made->data.model};
        __atomic_store_n(&sim_profile_count, sim_profile_count + 1, __ATOMIC_RELEASE);
    } else {
        kiln__free(NULL, made);
    }
    sim_pause();
    return result;
}

bool kiln__sim_has_model(void)
{
    sim_resume();
    bool has = sim_current_profile()->model != NULL;
    sim_pause();
    return has;
}

void kiln__sim_model_print(kiln__text *out)
{
    sim_resume();
    const sim_model *model = sim_current_profile()->model;
    sim_pause();
    if (!model)
        return;
    kiln__text_printf(out, "model %d:", SIM_MODEL_VERSION);
#define SIM_X(member, key, least, most) kiln__text_printf(out, "%a,", model->member);
    SIM_MODEL_MAP(SIM_X)
#undef SIM_X
    kiln__text_printf(out, "%a,%a,%a", model->clock, model->l2_size, model->sm_count);
    for (unsigned i = 0; i < model->carveout_count; i++)
        kiln__text_printf(out, ",%a", model->carveouts[i]);
    for (unsigned i = 0; i < model->gpc_count; i++)
        kiln__text_printf(out, ",%a", model->gpcs[i]);
}

const char *kiln__sim_profile_name(void)
{
    sim_resume();
    const char *name = sim_current_profile()->name;
    sim_pause();
    return name;
}

const char *kiln__sim_profile_at(size_t index)
{
    return index < __atomic_load_n(&sim_profile_count, __ATOMIC_ACQUIRE) ? sim_profiles[index].name : NULL;
}
