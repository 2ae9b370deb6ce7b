// The calls of TensorFlow Lite Micro's example micro_speech: two networks, one arena after another.
#include "firmware.h"

extern const unsigned char g_front_model_data[];
extern const unsigned char g_words_model_data[];
constexpr size_t kArenaSize = 28584;
alignas(16) uint8_t g_arena[kArenaSize];  // for both, one after the other
using MicroSpeechOpResolver = tflite::MicroMutableOpResolver<4>;
using AudioPreprocessorOpResolver = tflite::MicroMutableOpResolver<18>;

TfLiteStatus RegisterOps(MicroSpeechOpResolver& op_resolver) {
  TF_LITE_ENSURE_STATUS(op_resolver.AddReshape());
  TF_LITE_ENSURE_STATUS(op_resolver.AddFullyConnected());
  TF_LITE_ENSURE_STATUS(op_resolver.AddDepthwiseConv2D());
  TF_LITE_ENSURE_STATUS(op_resolver.AddSoftmax());
  return kTfLiteOk;
}

TfLiteStatus RegisterOps(AudioPreprocessorOpResolver& op_resolver) {
  TF_LITE_ENSURE_STATUS(op_resolver.AddReshape());
  TF_LITE_ENSURE_STATUS(op_resolver.AddCast());
  TF_LITE_ENSURE_STATUS(op_resolver.AddStridedSlice());
  TF_LITE_ENSURE_STATUS(op_resolver.AddConcatenation());
  TF_LITE_ENSURE_STATUS(op_resolver.AddMul());
  TF_LITE_ENSURE_STATUS(op_resolver.AddAdd());
  TF_LITE_ENSURE_STATUS(op_resolver.AddDiv());
  TF_LITE_ENSURE_STATUS(op_resolver.AddMinimum());
  TF_LITE_ENSURE_STATUS(op_resolver.AddMaximum());
  TF_LITE_ENSURE_STATUS(op_resolver.AddWindow());
  TF_LITE_ENSURE_STATUS(op_resolver.AddFftAutoScale());
  TF_LITE_ENSURE_STATUS(op_resolver.AddRfft());
  TF_LITE_ENSURE_STATUS(op_resolver.AddEnergy());
  TF_LITE_ENSURE_STATUS(op_resolver.AddFilterBank());
  TF_LITE_ENSURE_STATUS(op_resolver.AddFilterBankSquareRoot());
  TF_LITE_ENSURE_STATUS(op_resolver.AddFilterBankSpectralSubtraction());
  TF_LITE_ENSURE_STATUS(op_resolver.AddPCAN());
  TF_LITE_ENSURE_STATUS(op_resolver.AddFilterBankLog());
  return kTfLiteOk;
}

template <typename Resolver, typename Element>
TfLiteStatus Perform(const unsigned char* array, const uint8_t* inputs, const uint8_t* outputs) {
  const tflite::Model* model = tflite::GetModel(array);
  if (model->version() != TFLITE_SCHEMA_VERSION) {
    MicroPrintf("Model version mismatch!");
    return kTfLiteError;
  }
  Resolver op_resolver;
  TF_LITE_ENSURE_STATUS(RegisterOps(op_resolver));
  tflite::MicroInterpreter interpreter(model, op_resolver, g_arena, kArenaSize);
  TF_LITE_ENSURE_STATUS(interpreter.AllocateTensors());
  if (interpreter.arena_used_bytes() > kArenaSize) {
    return kTfLiteError;
  }
  TfLiteTensor* input = interpreter.input(0);
  TfLiteTensor* output = interpreter.output(0);
  for (int i = 0; i < 3; i++) {
    const Element* from = reinterpret_cast<const Element*>(inputs + static_cast<size_t>(i) * input->bytes);
    std::copy_n(from, tflite::ElementCount(*input->dims), tflite::GetTensorData<Element>(input));
    TF_LITE_ENSURE_STATUS(interpreter.Invoke());
    if (memcmp(tflite::GetTensorData<int8_t>(output), outputs + static_cast<size_t>(i) * output->bytes,
               output->bytes) != 0) {
      return kTfLiteError;
    }
  }
  return kTfLiteOk;
}

int main() {
  for (int round = 0; round < 2; round++) {
    CHECK((Perform<AudioPreprocessorOpResolver, int16_t>(g_front_model_data, kSounds, kFeatures)) == kTfLiteOk);
    CHECK((Perform<MicroSpeechOpResolver, int8_t>(g_words_model_data, kWords, kScores)) == kTfLiteOk);
  }
  return 0;
}
