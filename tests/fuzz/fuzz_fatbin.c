/* Any bytes as an image: the extracted parts are texts, and an image of these texts gives them back. */
#include <stdlib.h>
#include <string.h>

#include "cu_image.h"

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 1 << 20, DEVICE = 90 };
    if (size > MOST)
        return 0;
    sim_texts texts = {0}, again = {0};
    kiln__text log = {0};
    sim_image_result result = sim_image_read(&texts, data, size, "input", DEVICE, &log);
    WANT(result == SIM_IMAGE_OK || result == SIM_IMAGE_MEMORY || log.length > 0);
    bool *used = calloc(texts.count + 1, sizeof *used);
    WANT(used);
    for (size_t k = 0; k < texts.count; k++) {
        WANT(texts.items[k].data[texts.items[k].length] == '\0');
        used[k] = true;
    }
    size_t length = 0;
    unsigned char *image = sim_image_write(&texts, used, &length);
    if (image && result == SIM_IMAGE_OK) {
        WANT(sim_image_extent(image) == length);
        WANT(sim_image_read(&again, image, length, "again", DEVICE, &log) == SIM_IMAGE_OK);
        WANT(again.count == texts.count && again.linked);
        for (size_t k = 0; k < texts.count; k++)
            WANT(again.items[k].length == texts.items[k].length &&
                 memcmp(again.items[k].data, texts.items[k].data, texts.items[k].length) == 0);
    }
    kiln__free(NULL, image);
    sim_texts_free(&again);
    sim_texts_free(&texts);
    kiln__text_free(&log);
    free(used);
    return 0;
}
