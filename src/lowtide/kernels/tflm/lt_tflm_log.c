/* SPDX-License-Identifier: Apache-2.0 */
/* lt_tflm_log.c: where MicroPrintf writes to, unless the firmware has a DebugLog of its own. */
#include <stdarg.h>
#include <stdio.h>

#include "lowtide.h"

void DebugLog(const char *format, va_list args);

LT_SHARED void DebugLog(const char *format, va_list args)
{
    (void)vprintf(format, args);
}
