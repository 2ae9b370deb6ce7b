// Runs a network on whatever comes in.
#include "firmware.h"

extern const unsigned char g_net_model_data[];
alignas(16) static uint8_t tensor_arena[1 << 20];

int main()
{
    const tflite::Model *model = tflite::GetModel(g_net_model_data);
    CHECK(model->version() == TFLITE_SCHEMA_VERSION);
    tflite::MicroMutableOpResolver<1> resolver;
    tflite::MicroInterpreter interpreter(model, resolver, tensor_arena, sizeof tensor_arena);
    CHECK(interpreter.AllocateTensors() == kTfLiteOk);
    for (;;) {
        for (size_t i = 0; i < interpreter.inputs_size(); i++) {
            TfLiteTensor *input = interpreter.input(i);
            if (std::fread(input->data.raw, 1, input->bytes, stdin) != input->bytes) {
                return 0;
            }
        }
        CHECK(interpreter.Invoke() == kTfLiteOk);
        for (size_t i = 0; i < interpreter.outputs_size(); i++) {
            const TfLiteTensor *output = interpreter.output(i);
            CHECK(std::fwrite(output->data.raw, 1, output->bytes, stdout) == output->bytes);
        }
    }
}
