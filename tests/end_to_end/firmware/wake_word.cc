// The calls of ESPHome's micro_wake_word: variables in an arena of their own, arenas as large as was found.
#include "firmware.h"

class StreamingModel {
 public:
  StreamingModel(const uint8_t *start, size_t size) : model_start_(start), tensor_arena_size_(size) {}
  ~StreamingModel() { unload_model(); }

  bool load_model(tflite::MicroMutableOpResolver<20> &op_resolver) {
    if (var_arena_ == nullptr) {
      var_arena_ = new uint8_t[kVariableArenaSize];
      remember();
    }
    const tflite::Model *model = tflite::GetModel(model_start_);
    if (model->version() != TFLITE_SCHEMA_VERSION) {
      MicroPrintf("Streaming model's schema is not supported");
      return false;
    }
    tensor_arena_size_ = probe(op_resolver);
    tensor_arena_ = new uint8_t[tensor_arena_size_];
    interpreter_.reset(new tflite::MicroInterpreter(
        tflite::GetModel(model_start_), op_resolver, tensor_arena_, tensor_arena_size_, mrv_));
    if (interpreter_->AllocateTensors() != kTfLiteOk) {
      return false;
    }
    TfLiteTensor *input = interpreter_->input(0);
    if ((input->dims->size != 3) || (input->dims->data[0] != 1) || (input->dims->data[2] != 40)) {
      return false;
    }
    return input->type == kTfLiteInt8 && interpreter_->output(0)->type == kTfLiteInt8;
  }

  void unload_model() {
    interpreter_.reset();
    delete[] tensor_arena_;
    delete[] var_arena_;
    tensor_arena_ = var_arena_ = nullptr;
  }

  bool perform(const int8_t features[40], bool &ran) {
    TfLiteTensor *input = interpreter_->input(0);
    const uint8_t stride = static_cast<uint8_t>(interpreter_->input(0)->dims->data[1]);
    std::memmove((int8_t *) (tflite::GetTensorData<int8_t>(input)) + 40 * step_, features, 40);
    ran = ++step_ >= stride;
    if (ran) {
      step_ = 0;
      if (interpreter_->Invoke() != kTfLiteOk) {
        return false;
      }
    }
    return true;
  }

  const int8_t *scores() { return interpreter_->output(0)->data.int8; }
  size_t used() { return interpreter_->arena_used_bytes(); }

 private:
  void remember() {
    ma_ = tflite::MicroAllocator::Create(var_arena_, kVariableArenaSize);
    mrv_ = tflite::MicroResourceVariables::Create(ma_, 20);
  }

  size_t probe(tflite::MicroMutableOpResolver<20> &op_resolver) {
    uint8_t *arena = new uint8_t[tensor_arena_size_];
    size_t found = 0;
    {
      tflite::MicroInterpreter first(tflite::GetModel(model_start_), op_resolver, arena,
                                     tensor_arena_size_, mrv_);
      found = first.AllocateTensors() == kTfLiteOk ? first.arena_used_bytes() : 0;
    }
    remember();
    tflite::MicroInterpreter second(tflite::GetModel(model_start_), op_resolver, arena, found, mrv_);
    if (second.AllocateTensors() != kTfLiteOk) {
      found = 0;
    }
    delete[] arena;
    return found;
  }

  static constexpr size_t kVariableArenaSize = 1024;
  const uint8_t *model_start_;
  size_t tensor_arena_size_;
  int step_ = 0;
  uint8_t *tensor_arena_ = nullptr;
  uint8_t *var_arena_ = nullptr;
  std::unique_ptr<tflite::MicroInterpreter> interpreter_;
  tflite::MicroResourceVariables *mrv_ = nullptr;
  tflite::MicroAllocator *ma_ = nullptr;
};

extern const unsigned char g_word_model_data[];
extern const unsigned char g_voice_model_data[];

int main() {
  static tflite::MicroMutableOpResolver<20> op_resolver;
  CHECK(op_resolver.AddCallOnce() == kTfLiteOk && op_resolver.AddVarHandle() == kTfLiteOk);
  for (int round = 0; round < 2; round++) {  // unloaded in between, and its state with it
    StreamingModel word(g_word_model_data, 26080), voice(g_voice_model_data, 26080);
    CHECK(word.load_model(op_resolver) && voice.load_model(op_resolver));
    size_t runs = 0;
    for (size_t row = 0; row < 3 * 20; row++) {
      bool ran = false;
      CHECK(word.perform(reinterpret_cast<const int8_t *>(kWordRows) + 40 * row, ran));
      CHECK(voice.perform(reinterpret_cast<const int8_t *>(kVoiceRows) + 40 * row, ran));
      if (ran) {
        CHECK(memcmp(word.scores(), kWordScores + 2 * runs, 2) == 0);
        CHECK(memcmp(voice.scores(), kVoiceScores + 2 * runs, 2) == 0);
        runs++;
      }
    }
    std::printf("%u %u\n", static_cast<unsigned>(word.used()), static_cast<unsigned>(voice.used()));
  }
  return 0;
}
