// The calls of TensorFlow Lite Micro's example person_detection.
#include "firmware.h"

#include "person_model_data.h"
namespace {
const tflite::Model* model = nullptr;
tflite::MicroInterpreter* interpreter = nullptr;
TfLiteTensor* input = nullptr;
constexpr int kTensorArenaSize = 136 * 1024;
alignas(16) static uint8_t tensor_arena[kTensorArenaSize];
}  // namespace

void setup() {
  tflite::InitializeTarget();
  model = tflite::GetModel(g_person_model_data);
  if (model->version() != TFLITE_SCHEMA_VERSION) {
    MicroPrintf(
        "Model provided is schema version %d not equal "
        "to supported version %d.",
        model->version(), TFLITE_SCHEMA_VERSION);
    return;
  }
  static tflite::MicroMutableOpResolver<5> micro_op_resolver;
  micro_op_resolver.AddAveragePool2D(tflite::Register_AVERAGE_POOL_2D_INT8());
  micro_op_resolver.AddConv2D(tflite::Register_CONV_2D_INT8());
  micro_op_resolver.AddDepthwiseConv2D(tflite::Register_DEPTHWISE_CONV_2D_INT8());
  micro_op_resolver.AddReshape();
  micro_op_resolver.AddSoftmax(tflite::Register_SOFTMAX_INT8());
  static tflite::MicroInterpreter static_interpreter(
      model, micro_op_resolver, tensor_arena, kTensorArenaSize);
  interpreter = &static_interpreter;
  TfLiteStatus allocate_status = interpreter->AllocateTensors();
  if (allocate_status != kTfLiteOk) {
    MicroPrintf("AllocateTensors() failed");
    return;
  }
  input = interpreter->input(0);
}

void loop(const uint8_t* image, const uint8_t* scores) {
  memcpy(input->data.int8, image, input->bytes);
  if (kTfLiteOk != interpreter->Invoke()) {
    MicroPrintf("Invoke failed.");
  }
  TfLiteTensor* output = interpreter->output(0);
  if (memcmp(output->data.uint8, scores, output->bytes) == 0) {
    MicroPrintf("as the oracle");
  }
}

int main() {
  setup();
  CHECK(4 == input->dims->size && 1 == input->dims->data[0]);
  CHECK(96 == input->dims->data[1] && 96 == input->dims->data[2] && 3 == input->dims->data[3]);
  CHECK(kTfLiteInt8 == input->type && input->bytes == 96 * 96 * 3);
  TfLiteTensor* output = interpreter->output(0);
  CHECK(2 == output->dims->size && 1 == output->dims->data[0] && 2 == output->dims->data[1]);
  CHECK(kTfLiteInt8 == output->type);
  for (size_t i = 0; i < 3; i++) {
    loop(kImages + i * input->bytes, kScores + i * output->bytes);
  }
  return 0;
}
