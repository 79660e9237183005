/* Reads any text as a Matrix Market file or an edge list. The result is a matrix, or an error with a reason. The rows
 * of the matrix are in order, and its indices are in range. Each way to read the text must give the same matrix. The
 * first byte tells whether a graph is wanted. */
#include <stdlib.h>
#include <string.h>

#include "formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WANT(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

static void check_matrix(const kiln__csr *m, bool graph)
{
    WANT(m->offsets && m->offsets[0] == 0 && m->offsets[m->rows] == m->nonzeros && !m->values == graph);
    for (uint32_t r = 0; r < m->rows; r++) {
        WANT(m->offsets[r] <= m->offsets[r + 1]);
        for (uint32_t i = m->offsets[r]; i < m->offsets[r + 1]; i++) {
            WANT(m->index[i] < m->columns && (i == m->offsets[r] || m->index[i] > m->index[i - 1]));
            WANT(!graph || m->index[i] != r);
        }
    }
}

/* A few bytes may announce billions of rows, which would take seconds and gigabytes for each input. */
static bool is_large(const uint8_t *data, size_t size)
{
    for (size_t i = 0, digits = 0; i < size; i++) {
        digits = data[i] >= '0' && data[i] <= '9' ? digits + 1 : 0;
        if (digits > 5)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || is_large(data + 1, size - 1))
        return 0;
    bool graph = *data & 1;
    char *text = malloc(size); /* exactly as large as the text and its end */
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    kiln__csr matrix, again;
    kiln_error *error = NULL;
    kiln_status status = kiln__market_parse(NULL, "input", text, size - 1, graph, &matrix, &error);
    WANT((status == KILN_OK) == (error == NULL));
    if (status == KILN_OK) {
        kiln__row_statistics statistics;
        check_matrix(&matrix, graph);
        kiln__csr_statistics(&matrix, (kiln__patience){0}, &statistics);
        WANT(statistics.largest <= matrix.columns && statistics.empty <= matrix.rows);
        WANT(kiln__market_parse(NULL, "input", text, size - 1, graph, &again, NULL) == KILN_OK);
        WANT(again.nonzeros == matrix.nonzeros &&
             memcmp(again.index, matrix.index, matrix.nonzeros * sizeof *again.index) == 0);
        kiln__csr_free(NULL, &again);
    } else {
        WANT(!matrix.offsets && strncmp(kiln_error_message(error), "input", 5) == 0);
    }
    kiln__csr_free(NULL, &matrix);
    kiln_error_free(error);
    free(text);
    return 0;
}
