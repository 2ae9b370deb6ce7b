#!/bin/sh
# Compiles the three networks into components/, as ESP-IDF packages, which share one runtime:
#
#     sh components.sh [FRONT WAKE VOICE]
set -e
cd "$(dirname "$0")"
lowtide compile "${1:-zoo:audio-front-end}" --name front --export esp-idf -o components/front
lowtide compile "${2:-zoo:streaming-wake-word}" --name wake --export esp-idf -o components/wake
lowtide compile "${3:-zoo:streaming-voice-activity}" --name voice --export esp-idf -o components/voice
