// Two interpreters with one allocator.
#include "firmware.h"

extern const unsigned char g_word_model_data[];
extern const unsigned char g_figure_model_data[];
alignas(16) static uint8_t arena[1 << 20];

int main()
{
    tflite::MicroMutableOpResolver<3> resolver;
    tflite::MicroAllocator *allocator = tflite::MicroAllocator::Create(arena, sizeof arena);
    CHECK(allocator != nullptr && tflite::MicroAllocator::Create(arena, 8) == nullptr);
    tflite::MicroInterpreter word(tflite::GetModel(g_word_model_data), resolver, allocator);
    CHECK(word.AllocateTensors() == kTfLiteOk);
    const size_t one = word.arena_used_bytes();
    tflite::MicroInterpreter figure(tflite::GetModel(g_figure_model_data), resolver, allocator);
    CHECK(figure.AllocateTensors() == kTfLiteOk);
    std::printf("%u %u\n", static_cast<unsigned>(one), static_cast<unsigned>(word.arena_used_bytes()));
    for (int round = 0; round < 2; round++) {
        for (size_t run = 0; run < 3; run++) {
            TfLiteTensor *input = word.input(0), *output = word.output(0);
            memcpy(input->data.raw, kWordIn + run * input->bytes, input->bytes);
            CHECK(word.Invoke() == kTfLiteOk);
            CHECK(memcmp(output->data.raw, kWordOut + run * output->bytes, output->bytes) == 0);
            input = figure.input(0), output = figure.output(0);
            memcpy(input->data.raw, kFigureIn + run * input->bytes, input->bytes);
            CHECK(figure.Invoke() == kTfLiteOk);
            CHECK(memcmp(output->data.raw, kFigureOut + run * output->bytes, output->bytes) == 0);
        }
        CHECK(word.Reset() == kTfLiteOk && figure.Reset() == kTfLiteOk);
    }
    return 0;
}
