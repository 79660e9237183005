/* watch.c - observes the device during a measurement: clocks, throttling, temperature, power and energy. All figures
 * come from the library NVML, which need not be installed. */
#include "limit_internal.h"
#include "measure_internal.h"
#include "plan_internal.h"
#include "steps_internal.h"

/* the least time between two queries of NVML, because a query takes some tens of microseconds */
#define LOOK_NS 20000000u

/* NVIDIA's energy counter changes about ten times a second. So a measurement of energy begins and ends at a change of
 * the counter. The two changes are at least ENERGY_SECONDS apart. */
#define ENERGY_SECONDS 0.5
#define ENERGY_MOST 2.5   /* the repetitions for measuring energy end after this many seconds in any case */
#define ENERGY_BATCH 0.01 /* seconds of work between two reads of the energy counter */
enum { ENERGY_BATCH_MOST = 4096, ENERGY_BATCHES = 3 };

void kiln__watch_begin(kiln__watch *watch, kiln_engine *engine)
{
    *watch = (kiln__watch){.nvml = kiln__engine_nvml(engine)};
}

void kiln__watch_look(kiln__watch *watch)
{
    uint64_t now = kiln__now_ns();
    if (!watch->nvml || (watch->looks && now - watch->looked < LOOK_NS))
        return;
    kiln__nvml_clocks clocks;
    kiln__nvml_clocks_now(watch->nvml, &clocks);
    watch->sm_hz += clocks.sm_hz;
    watch->memory_hz += clocks.memory_hz;
    watch->throttle |= clocks.throttle;
    watch->looks++;
    watch->looked = now;
}

void kiln__watch_end(kiln__watch *watch, kiln_result *result)
{
    if (!watch->looks)
        return;
    result->clock_hz = watch->sm_hz / watch->looks;
    result->memory_clock_hz = watch->memory_hz / watch->looks;
    result->throttle = watch->throttle;
    result->temperature = kiln__nvml_temperature(watch->nvml);
    result->power_watts = kiln__nvml_power(watch->nvml);
}

/* ---- energy ---- */

typedef struct meter {
    kiln_plan *plan;
    CUevent ends[2]; /* the end events of two alternating batches: one batch runs while the counter is read */
    unsigned batch;
    uint64_t done;  /* the number of repetitions that have ended */
    double joules;  /* the value of the energy counter at its last change */
    unsigned steps; /* the number of changes of the energy counter so far */
    double from_joules, to_joules, from_seconds, to_seconds;
    uint64_t from_done, to_done;
} meter;

static kiln_status enqueue_batch(meter *m, unsigned which, kiln_error **error)
{
    kiln_status status = KILN_OK;
    for (unsigned i = 0; i < m->batch && status == KILN_OK; i++) {
        status = kiln__steps_enqueue(m->plan, true, NULL, error);
        if (status == KILN_OK)
            status = kiln__steps_enqueue(m->plan, false, NULL, error);
    }
    const kiln__driver *driver = &m->plan->engine->driver;
    CUresult result = status == KILN_OK ? driver->cuEventRecord_(m->ends[which], NULL) : CUDA_SUCCESS;
    return result == CUDA_SUCCESS
               ? status
               : kiln__driver_fail(driver, m->plan->mem, result, error, "recording an event while measuring energy");
}

/* Stores the value of the energy counter if it has changed. */
static void look(meter *m, kiln__nvml *nvml, double seconds)
{
    double joules;
    if (!kiln__nvml_energy(nvml, &joules) || joules == m->joules)
        return;
    m->joules = joules;
    m->to_joules = joules;
    m->to_seconds = seconds;
    m->to_done = m->done;
    if (m->steps++ == 0) {
        m->from_joules = joules;
        m->from_seconds = seconds;
        m->from_done = m->done;
    }
}

static kiln_status run_meter(meter *m, kiln__nvml *nvml, kiln_error **error)
{
    uint64_t start = kiln__now_ns();
    kiln_status status = enqueue_batch(m, 0, error);
    for (unsigned turn = 0; status == KILN_OK; turn++) {
        status = enqueue_batch(m, (turn + 1) % 2, error);
        if (status != KILN_OK)
            break;
        CUresult result = kiln__limit_wait_event(m->plan, m->ends[turn % 2]);
        if (result != CUDA_SUCCESS)
            return kiln__limit_fail(m->plan, result, error, "waiting while measuring energy");
        m->done += m->batch;
        double seconds = (double)(kiln__now_ns() - start) * 1e-9;
        look(m, nvml, seconds);
        bool enough = m->steps > 1 && m->to_seconds - m->from_seconds >= ENERGY_SECONDS;
        if (enough || (turn >= ENERGY_BATCHES && seconds >= ENERGY_MOST))
            break;
    }
    /* waits for the last batch, which was enqueued ahead */
    CUresult done = status == KILN_OK ? kiln__limit_wait_all(m->plan) : CUDA_SUCCESS;
    return done == CUDA_SUCCESS ? status : kiln__limit_fail(m->plan, done, error, "waiting while measuring energy");
}

kiln_status kiln__plan_energy(kiln_plan *plan, kiln__watch *watch, kiln_result *result, kiln_error **error)
{
    const kiln__driver *driver = &plan->engine->driver;
    meter m = {.plan = plan};
    if (!kiln__nvml_energy(watch->nvml, &m.joules) || !(result->seconds > 0))
        return KILN_OK;
    double batch = ENERGY_BATCH / result->seconds;
    m.batch = batch < 1 ? 1 : batch < ENERGY_BATCH_MOST ? (unsigned)batch : ENERGY_BATCH_MOST;
    CUresult made = driver->cuEventCreate_(&m.ends[0], CU_EVENT_DISABLE_TIMING);
    if (made == CUDA_SUCCESS && (made = driver->cuEventCreate_(&m.ends[1], CU_EVENT_DISABLE_TIMING)) != CUDA_SUCCESS)
        driver->cuEventDestroy_(m.ends[0]);
    if (made != CUDA_SUCCESS)
        return kiln__driver_fail(driver, plan->mem, made, error, "making an event while measuring energy");
    kiln_status status = run_meter(&m, watch->nvml, error);
    driver->cuEventDestroy_(m.ends[0]);
    driver->cuEventDestroy_(m.ends[1]);
    if (status != KILN_OK || m.to_done == m.from_done || !(m.to_seconds > m.from_seconds))
        return status;
    result->energy_joules = (m.to_joules - m.from_joules) / (double)(m.to_done - m.from_done);
    result->power_watts = (m.to_joules - m.from_joules) / (m.to_seconds - m.from_seconds);
    return KILN_OK;
}
