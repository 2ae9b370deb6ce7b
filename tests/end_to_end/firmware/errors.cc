// What fails, and in which arenas.
#include "firmware.h"

extern const unsigned char g_net_model_data[];
alignas(16) static uint8_t arena[1 << 20];
alignas(16) static const unsigned char tflite_file[] = {28, 0, 0, 0, 'T', 'F', 'L', '3', 0, 0, 0, 0};

int main()
{
    tflite::MicroMutableOpResolver<3> resolver;
    const tflite::Model *none = tflite::GetModel(tflite_file);
    CHECK(none->version() == 0 && tflite::GetModel(nullptr)->version() != TFLITE_SCHEMA_VERSION);
    tflite::MicroInterpreter wrong(none, resolver, arena, sizeof arena);
    CHECK(wrong.initialization_status() == kTfLiteError && wrong.inputs_size() == 0);
    CHECK(wrong.AllocateTensors() == kTfLiteError && wrong.Invoke() == kTfLiteError);

    const tflite::Model *model = tflite::GetModel(g_net_model_data);
    size_t used = 0;
    {
        tflite::MicroInterpreter fine(model, resolver, arena, sizeof arena);
        CHECK(fine.input(0) == nullptr);
        CHECK(fine.AllocateTensors() == kTfLiteOk && fine.AllocateTensors() == kTfLiteOk);
        CHECK(fine.input(1) == nullptr && fine.output(7) == nullptr);
        CHECK(fine.typed_input_tensor<int8_t>(0) == fine.input(0)->data.int8);
        CHECK(fine.typed_output_tensor<float>(0) == nullptr);
        used = fine.arena_used_bytes();
        CHECK(used < sizeof arena);
    }
    for (size_t from = 0; from < 32; from++) {
        /* What was found in use is enough at any address, and no byte more is touched. */
        memset(arena, 0xa5, sizeof arena);
        tflite::MicroInterpreter exact(model, resolver, arena + from, used);
        CHECK(exact.AllocateTensors() == kTfLiteOk && exact.Invoke() == kTfLiteOk);
        CHECK(exact.arena_used_bytes() == used);
        for (size_t i = 0; i < sizeof arena; i++) {
            CHECK((i >= from && i < from + used) || arena[i] == 0xa5);
        }
    }
    /* Less may do at a good address, but not much less; and what is used is at most what there is. */
    for (size_t size = 0; size < used; size++) {
        memset(arena, 0xa5, sizeof arena);
        tflite::MicroInterpreter small(model, resolver, arena, size);
        const bool fits = small.AllocateTensors() == kTfLiteOk;
        CHECK(fits == (small.input(0) != nullptr) && (!fits || size + 80 > used));
        CHECK(small.arena_used_bytes() <= size);
        for (size_t i = size; i < sizeof arena; i++) {
            CHECK(arena[i] == 0xa5);
        }
    }
    tflite::MicroInterpreter small(model, resolver, arena, 64);
    std::printf("--\n");
    CHECK(small.Invoke() == kTfLiteError);
    std::printf("%u\n", static_cast<unsigned>(used));
    tflite::MicroInterpreter all(model, resolver, arena, sizeof arena, nullptr, nullptr, true);
    CHECK(all.AllocateTensors() == kTfLiteError);
    return 0;
}
