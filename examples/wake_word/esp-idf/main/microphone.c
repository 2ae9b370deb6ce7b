/* Sound from a microphone at I2S, left channel, 24 bits in words of 32: an INMP441, for example. */
#include "driver/i2s_std.h"
#include "freertos/FreeRTOS.h"

#include "sound.h"

/* The pins of your board. */
#define PIN_CLOCK GPIO_NUM_4
#define PIN_SELECT GPIO_NUM_5
#define PIN_DATA GPIO_NUM_6

#define MOST 160

static i2s_chan_handle_t channel;

int sound_start(void)
{
    const i2s_chan_config_t role = I2S_CHANNEL_DEFAULT_CONFIG(I2S_NUM_AUTO, I2S_ROLE_MASTER);
    const i2s_std_config_t config = {
        .clk_cfg = I2S_STD_CLK_DEFAULT_CONFIG(16000),
        .slot_cfg =
            I2S_STD_PHILIPS_SLOT_DEFAULT_CONFIG(I2S_DATA_BIT_WIDTH_32BIT, I2S_SLOT_MODE_MONO),
        .gpio_cfg =
            {
                .mclk = I2S_GPIO_UNUSED,
                .bclk = PIN_CLOCK,
                .ws = PIN_SELECT,
                .dout = I2S_GPIO_UNUSED,
                .din = PIN_DATA,
            },
    };
    return i2s_new_channel(&role, NULL, &channel) != ESP_OK ||
           i2s_channel_init_std_mode(channel, &config) != ESP_OK ||
           i2s_channel_enable(channel) != ESP_OK;
}

int sound_next(int16_t *sound, int count)
{
    static int32_t words[MOST];
    size_t bytes = 0;
    if (count > MOST || i2s_channel_read(channel, words, (size_t)count * sizeof *words, &bytes,
                                         portMAX_DELAY) != ESP_OK) {
        return 1;
    }
    for (int i = 0; i < count; i++) {
        const int32_t loud = words[i] >> 14; /* four times as loud as the upper 16 bits are */
        sound[i] = (int16_t)(loud < INT16_MIN ? INT16_MIN : loud > INT16_MAX ? INT16_MAX : loud);
    }
    return bytes != (size_t)count * sizeof *words;
}
