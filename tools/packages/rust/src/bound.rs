// SPDX-License-Identifier: Apache-2.0
// Prints the same as main.rs, with what bindgen reads from net.h in place of declarations by hand.
#[allow(dead_code, non_camel_case_types, non_snake_case, non_upper_case_globals)]
mod bound {
    include!("net.rs");
}
use bound::*;

#[repr(C, align(16))]
struct Arena([u8; NET_ARENA_SIZE as usize]);
const _: () = assert!(NET_ARENA_ALIGN <= 16);

fn main() {
    let mut seed: u32 = 1;
    let mut arena = Box::new(Arena([0; NET_ARENA_SIZE as usize]));
    let mut net = Box::new(std::mem::MaybeUninit::<net_t>::zeroed());
    let net = net.as_mut_ptr();
    // Safety: one thread, and the arrays are as long as the constants say.
    unsafe {
        assert_eq!(net_init(net, arena.0.as_mut_ptr().cast(), NET_ARENA_SIZE as _), 0);
        for run in 0..3 {
            let input = std::slice::from_raw_parts_mut(net_input(net, 0).cast::<i8>(), NET_INPUT_0_ELEMENTS as usize);
            for value in input {
                seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
                *value = ((seed >> 24) as i32 - 128) as i8;
            }
            assert_eq!(net_invoke(net), 0);
            let made = net_output(net, 0).cast::<i8>();
            let output = std::slice::from_raw_parts(made, NET_OUTPUT_0_ELEMENTS as usize);
            println!("run {run}");
            println!("output 0:{}", output.iter().map(|v| format!(" {v}")).collect::<String>());
        }
    }
}
