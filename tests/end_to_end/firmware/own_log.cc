// Messages that the firmware prints itself.
#include "firmware.h"

extern const unsigned char g_net_model_data[];
extern "C" void DebugLog(const char *format, va_list)
{
    std::printf("<%s>", format[0] == '\r' ? "end" : format);
}

int main()
{
    tflite::MicroMutableOpResolver<3> resolver;
    tflite::MicroInterpreter interpreter(tflite::GetModel(nullptr), resolver,
                                         static_cast<uint8_t *>(nullptr), 0);
    CHECK(interpreter.AllocateTensors() == kTfLiteError);
    MicroPrintf("mine %d", 1);
    return 0;
}
