/* SPDX-License-Identifier: Apache-2.0 */
/* What ESPHome's streaming_model.cpp needs of ESPHome, for a computer: tools/try_packages.sh. */
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#define ESP_LOGCONFIG(...) tell(__VA_ARGS__)
#define ESP_LOGD(...) tell(__VA_ARGS__)
#define ESP_LOGW(...) tell(__VA_ARGS__)
#define ESP_LOGE(...) tell(__VA_ARGS__)

namespace esphome {

template <typename... Args> void tell(const char *, const char *format, Args... args) {
  std::fprintf(stderr, format, args...);
  std::fputc('\n', stderr);
}

template <typename T> struct RAMAllocator {
  T *allocate(size_t count) { return static_cast<T *>(std::malloc(count * sizeof(T))); }
  void deallocate(T *at, size_t) { std::free(at); }
};

using std::make_unique;

struct ESPPreferenceObject {
  bool load(bool *) { return false; }
  bool save(const bool *) { return true; }
};

struct Preferences {
  template <typename T> ESPPreferenceObject make_preference(uint32_t) { return {}; }
};

inline Preferences preferences;
inline Preferences *global_preferences = &preferences;

inline uint32_t fnv1_hash(const std::string &) { return 0; }

}  // namespace esphome
