// SPDX-License-Identifier: Apache-2.0
// Runs ESPHome's own model class for 300 invocations and prints each probability: tools/try_packages.sh.
#include "esphome.h"
#define protected public  // the probabilities are told to no one else
#include "streaming_model.h"
#undef protected

extern const unsigned char g_wake_model_data[];

int main() {
  esphome::micro_wake_word::WakeWordModel model("wake", g_wake_model_data, 255, 1, "wake", 26080, true, true);
  uint32_t seed = 1;
  int walk[40] = {};
  for (int run = 0; run < 300; run++) {
    for (int row = 0; row < 3; row++) {
      int8_t features[40];
      for (int i = 0; i < 40; i++) {
        seed = seed * 1664525u + 1013904223u;
        walk[i] = std::max(-128, std::min(127, walk[i] + static_cast<int>(seed >> 24) % 31 - 15));
        features[i] = static_cast<int8_t>(walk[i]);
      }
      if (!model.perform_streaming_inference(features)) {
        return 1;
      }
    }
    std::printf("%d\n", model.recent_streaming_probabilities_[0]);
  }
  std::fprintf(stderr, "arena %zu B\n", model.interpreter_->arena_used_bytes());
  return 0;
}
