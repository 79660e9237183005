/* record_internal.h - the store's side of a sweep (record.c). */
#ifndef KILN_TUNE_RECORD_INTERNAL_H
#define KILN_TUNE_RECORD_INTERNAL_H

#include "config.h"
#include "known_internal.h"
#include "sites_internal.h"

typedef struct kiln__recorder kiln__recorder;
typedef struct kiln__identity { /* the identity of a sample; texts are "" until they are known */
    char rest[33];              /* hash of everything that determines it except the device and the version of Kiln */
    char source[33], inputs[33];
} kiln__identity;
/* *recorder stays NULL if the options name no store. Every function accepts NULL. */
kiln_status kiln__recorder_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                const kiln__sites *sites, kiln__recorder **recorder, kiln_error **error);
void kiln__recorder_free(kiln__recorder *recorder);
/* `config` and `code` are NULL if the sample failed before they existed. */
kiln_status kiln__recorder_identify(kiln__recorder *recorder, const kiln_sample *sample, const kiln__config *config,
                                    const kiln__code_job *code, kiln__identity *identity, kiln_error **error);
/* Fills in the sample from the store. The stored sample may be of any device of the sweep. *status and *message (in
 * `arena`) get its status and message. Returns false if the store has no sample that can be used. A sample that was
 * stopped early is reused if it would be stopped early again with `bound`. */
bool kiln__recorder_find(kiln__recorder *recorder, const kiln__identity *identity, double bound, kiln__arena *arena,
                         kiln_sample *sample, kiln_status *status, const char **message);
/* Lists at most 1,000 stored samples of the spec at these sizes, the best first. Only samples count that were run in
 * the sweep's way on a device of the sweep. Texts and params lie in `arena`; the caller frees *list by kiln__free().
 * The list is empty if the store cannot be read or the sweep reuses nothing. */
kiln_status kiln__recorder_recall(kiln__recorder *recorder, kiln__settings sizes, kiln__arena *arena,
                                  kiln__known **list, size_t *count, kiln_error **error);
/* Lists times of configurations of the spec on another device or at other sizes. Estimates are included. All these
 * times come from the largest group in the store of one device, the same sizes and the same way to run. A group of
 * fewer than 4 samples is ignored, and only the first 4,096 samples of a group are listed. The device's name lies in
 * `arena`. Memory and errors are handled as in kiln__recorder_recall(). */
kiln_status kiln__recorder_expect(kiln__recorder *recorder, kiln__settings sizes, kiln__arena *arena,
                                  kiln__known **list, size_t *count, const char **device, kiln_error **error);
/* Sets the times of the next sample that is added. They need not be aligned. */
void kiln__recorder_times(kiln__recorder *recorder, const void *times, size_t count);
/* Sets the features of the input as a text of settings ("": no features). All samples of a sweep have the same
 * input. */
void kiln__recorder_features(kiln__recorder *recorder, const char *features);
/* Takes the times and the features from a plan that has run. */
kiln_status kiln__recorder_note(kiln__recorder *recorder, kiln_plan *plan, kiln_error **error);
/* Writes a sample of device number `place` of the sweep. If the store cannot be written, the log says so once, and the
 * sweep continues. `why` is the error of the sample, or NULL if it was successful. */
void kiln__recorder_add(kiln__recorder *recorder, const kiln__identity *identity, const kiln_sample *sample,
                        size_t place, const kiln_error *why);
/* Takes the times of the stored sample for the next kiln__recorder_add(), as kiln__recorder_times() does. If there is
 * no such row, the next sample has no times. */
void kiln__recorder_stored_times(kiln__recorder *recorder, const kiln__identity *identity, size_t place);
/* At the end: adds pending samples to the store, and logs how many could not be stored. */
void kiln__recorder_finish(kiln__recorder *recorder, bool wait);

#endif
