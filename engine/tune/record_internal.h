/* record_internal.h - uses the store in a sweep (record.c). */
#ifndef KILN_TUNE_RECORD_INTERNAL_H
#define KILN_TUNE_RECORD_INTERNAL_H

#include "config.h"
#include "known_internal.h"
#include "sites_internal.h"

typedef struct kiln__recorder kiln__recorder;
typedef struct kiln__identity { /* the identity of a sample; texts are "" until they are known */
    /* a hash of everything on which the sample depends, except the device and the version of Kiln */
    char rest[33];
    char source[33], inputs[33];
} kiln__identity;
/* If the options name no store, *recorder stays NULL. Every function of this header accepts NULL as the recorder. */
kiln_status kiln__recorder_open(kiln_engine *engine, const kiln_spec *spec, const kiln_tune_options *options,
                                const kiln__sites *sites, kiln__recorder **recorder, kiln_error **error);
void kiln__recorder_free(kiln__recorder *recorder);
/* Makes the identity of a sample. `config` and `code` are NULL if the sample failed before they existed. */
kiln_status kiln__recorder_identify(kiln__recorder *recorder, const kiln_sample *sample, const kiln__config *config,
                                    const kiln__code_job *code, kiln__identity *identity, kiln_error **error);
/* Fills in the sample from the store, if the store has it. Any device of the sweep may have made the stored sample.
 * *status and *message get the status and the message of the sample. The message is in `arena`. Returns false if the
 * store has no sample that can be used. A sample that was stopped early is reused only if `bound` would stop it early
 * again. */
bool kiln__recorder_find(kiln__recorder *recorder, const kiln__identity *identity, double bound, kiln__arena *arena,
                         kiln_sample *sample, kiln_status *status, const char **message);
/* Lists at most 1,000 stored samples of the spec at these sizes, the best first. Lists only samples that a device of
 * the sweep made with the same options of the run. Texts and params are in `arena`. The caller frees *list by
 * kiln__free(). The list is empty if the store cannot be read or the sweep reuses nothing. After an error in the middle,
 * the list has the samples that were read before it. */
kiln_status kiln__recorder_recall(kiln__recorder *recorder, kiln__settings sizes, kiln__arena *arena,
                                  kiln__known **list, size_t *count, kiln_error **error);
/* Lists times of configurations of the spec on another device or at other sizes. Estimates are included. All these
 * times come from one group of samples in the store: one device, the same sizes, and the same options of the run. The
 * largest group is chosen. A group of fewer than 4 samples is ignored. Only the first 4,096 samples of a group are
 * listed. The name of the device is in `arena`. The caller frees *list, and errors are handled, as for
 * kiln__recorder_recall(). */
kiln_status kiln__recorder_expect(kiln__recorder *recorder, kiln__settings sizes, kiln__arena *arena,
                                  kiln__known **list, size_t *count, const char **device, kiln_error **error);
/* Sets the times of the repetitions of the sample that is added next. The doubles at `times` need not be aligned. */
void kiln__recorder_times(kiln__recorder *recorder, const void *times, size_t count);
/* Sets the features of the input as a text of settings. "" means that there are no features. All samples of a sweep
 * have the same input, and so the same features. */
void kiln__recorder_features(kiln__recorder *recorder, const char *features);
/* Takes the times and the features from a plan that has run. */
kiln_status kiln__recorder_note(kiln__recorder *recorder, kiln_plan *plan, kiln_error **error);
/* Writes a sample of device number `place` of the sweep. If the store cannot be written, the log has one message, and
 * the sweep continues. `why` is the error of the sample, or NULL if the sample was successful. */
void kiln__recorder_add(kiln__recorder *recorder, const kiln__identity *identity, const kiln_sample *sample,
                        size_t place, const kiln_error *why);
/* Reads the times of a stored sample, and sets them for the next kiln__recorder_add(), as kiln__recorder_times() does.
 * If the store has no such sample, the next sample has no times. */
void kiln__recorder_stored_times(kiln__recorder *recorder, const kiln__identity *identity, size_t place);
/* Call this at the end. Adds the pending samples to the store, and logs how many samples could not be stored. */
void kiln__recorder_finish(kiln__recorder *recorder, bool wait);

#endif
