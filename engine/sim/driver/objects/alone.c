/* alone.c - the driver without programs/. Such a driver has no captures, graphs and pools, and it makes no profile of a
 * program. Until somebody calls sim_programs_set(), the driver calls the functions below instead of the functions of
 * programs/. */
#include <stdio.h>
#include <stdlib.h>

#include "cu_objects.h"

static CUresult alone_forbid(sim_context *context)
{
    (void)context;
    return CUDA_SUCCESS;
}

static CUresult alone_forbid_any(sim_context *context)
{
    (void)context;
    return CUDA_SUCCESS;
}

static CUresult alone_capture_enter(sim_context *context, CUstream stream, sim_stream **capturing)
{
    (void)context;
    (void)stream;
    *capturing = NULL;
    return CUDA_SUCCESS;
}

/* Without programs/ no stream is captured, so nobody calls this function or alone_capture_record(). */
static CUresult alone_capture_submit(sim_context *context, sim_stream *stream, struct sim_op *op)
{
    (void)context;
    (void)op;
    (void)stream;
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult alone_capture_wait(sim_context *context, CUstream stream)
{
    (void)context;
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult alone_capture_record(sim_context *context, sim_stream *stream, sim_event *event)
{
    (void)context;
    (void)stream;
    (void)event;
    return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult alone_capture_wait_event(sim_context *context, CUstream stream, const sim_event *event)
{
    (void)context;
    (void)stream;
    (void)event;
    return CUDA_SUCCESS;
}

static CUresult alone_capture_look_event(sim_context *context, const sim_event *event)
{
    (void)context;
    (void)event;
    return CUDA_SUCCESS;
}

static void alone_capture_leave(sim_context *context, sim_stream *stream)
{
    (void)context;
    (void)stream;
}

static CUresult alone_capture_status(sim_context *context, CUstream stream, CUstreamCaptureStatus *status)
{
    (void)context;
    (void)stream;
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

static bool alone_graph_memory(const sim_context *context, CUdeviceptr address, uint64_t bytes, bool exact)
{
    (void)context;
    (void)address;
    (void)bytes;
    (void)exact;
    return false;
}

static void alone_pool_freed(sim_context *context, uint64_t pool, uint64_t address, uint64_t bytes)
{
    (void)context;
    (void)pool;
    (void)address;
    (void)bytes;
}

/* If the environment requests a profile, prints a line on stderr and returns false, because only programs/ can make
 * profiles. */
static bool alone_program_open(void)
{
    static const char *const variables[] = {"KILN_SIM_PROFILE", "KILN_SIM_TRACE"};
    for (size_t i = 0; i < KILN__COUNT(variables); i++) {
        const char *text = getenv(variables[i]);
        if (!text || !*text)
            continue;
        fprintf(stderr, "kiln: %s=%s: this build makes no profiles of programs (KILN_SIM_PROGRAMS=OFF)\n", variables[i],
                text);
        return false;
    }
    return true;
}

static bool alone_program_on(void) { return false; }

static void alone_program_stream(const sim_stream *stream, bool waits)
{
    (void)stream;
    (void)waits;
}

static void alone_program_launch(const sim_function *function, uint32_t resident, const vm_launch *launch,
                                 struct vm_watch *watch, sim_noted *noted)
{
    (void)function;
    (void)resident;
    (void)launch;
    (void)watch;
    *noted = (sim_noted){0};
}

static void alone_program_ran(sim_context *context, sim_noted *noted, bool whole, const sim_timed *timed)
{
    (void)context;
    (void)noted;
    (void)whole;
    (void)timed;
}

static void alone_program_moved(sim_context *context, sim_lane lane, const char *what, uint64_t bytes, double seconds)
{
    (void)context;
    (void)lane;
    (void)what;
    (void)bytes;
    (void)seconds;
}

static void alone_program_record(sim_context *context, sim_event *event)
{
    (void)context;
    (void)event;
}

static void alone_program_after(const sim_context *context, sim_stream *stream, const sim_event *event)
{
    (void)context;
    (void)stream;
    (void)event;
}

static void alone_program_wait(const sim_context *context, const sim_stream *stream)
{
    (void)context;
    (void)stream;
}

static void alone_program_wait_event(const sim_event *event) { (void)event; }

static void alone_program_wait_all(const sim_context *context) { (void)context; }

const sim_programs_table sim_no_programs = {
#define SIM_X(result, name, arguments) .name = alone_##name,
    SIM_PROGRAMS_CALLS(SIM_X)
#undef SIM_X
};

static const sim_programs_table *joined = SIM_PROGRAMS;

const sim_programs_table *sim_programs(void) { return __atomic_load_n(&joined, __ATOMIC_ACQUIRE); }

void sim_programs_set(const sim_programs_table *table) { __atomic_store_n(&joined, table, __ATOMIC_RELEASE); }
