// The calls of TensorFlow Lite Micro's example hello_world.
#include "firmware.h"

namespace {
using HelloWorldOpResolver = tflite::MicroMutableOpResolver<1>;

TfLiteStatus RegisterOps(HelloWorldOpResolver& op_resolver) {
  TF_LITE_ENSURE_STATUS(op_resolver.AddFullyConnected());
  return kTfLiteOk;
}
}  // namespace

TfLiteStatus LoadQuantModelAndPerformInference() {
  const tflite::Model* model = ::tflite::GetModel(g_hello_world_int8_model_data);
  TFLITE_CHECK_EQ(model->version(), TFLITE_SCHEMA_VERSION);

  HelloWorldOpResolver op_resolver;
  TF_LITE_ENSURE_STATUS(RegisterOps(op_resolver));

  constexpr int kTensorArenaSize = 8192;
  alignas(16) uint8_t tensor_arena[kTensorArenaSize];
  tflite::MicroInterpreter interpreter(model, op_resolver, tensor_arena, kTensorArenaSize);
  TF_LITE_ENSURE_STATUS(interpreter.AllocateTensors());
  TFLITE_CHECK_EQ(interpreter.inputs_size(), 1);

  TfLiteTensor* input = interpreter.input(0);
  TFLITE_CHECK_NE(input, nullptr);
  TfLiteTensor* output = interpreter.output(0);
  TFLITE_CHECK_NE(output, nullptr);
  float output_scale = output->params.scale;
  int output_zero_point = output->params.zero_point;

  for (unsigned i = 0; i < 3; i++) {
    memcpy(input->data.int8, kInputs + i * input->bytes, input->bytes);
    TF_LITE_ENSURE_STATUS(interpreter.Invoke());
    float y_pred = static_cast<float>(output->data.int8[0] - output_zero_point) * output_scale;
    TFLITE_CHECK_LE(std::fabs(y_pred - kReal[i]), 1e-6f);
    TFLITE_CHECK(memcmp(output->data.int8, kOutputs + i * output->bytes, output->bytes) == 0);
  }
  return kTfLiteOk;
}

int main(int argc, char* argv[]) {
  (void)argc;
  (void)argv;
  tflite::InitializeTarget();
  TF_LITE_ENSURE_STATUS(LoadQuantModelAndPerformInference());
  MicroPrintf("~~~ALL TESTS PASSED~~~\n");
  return kTfLiteOk;
}
