// SPDX-License-Identifier: Apache-2.0
// Prints what the example of the package `cmake` prints.
use std::os::raw::c_int;

extern "C" {
    fn net_glue_init() -> c_int;
    fn net_glue_input() -> *mut i8;
    fn net_glue_run() -> *const i8;
    static net_glue_sizes: [usize; 2];
}

fn main() {
    let mut seed: u32 = 1;
    // Safety: one thread, and the arrays are as long as the sizes say.
    unsafe {
        assert_eq!(net_glue_init(), 0);
        for run in 0..3 {
            let input = std::slice::from_raw_parts_mut(net_glue_input(), net_glue_sizes[0]);
            for value in input {
                seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
                *value = ((seed >> 24) as i32 - 128) as i8;
            }
            let made = net_glue_run();
            assert!(!made.is_null());
            let output = std::slice::from_raw_parts(made, net_glue_sizes[1]);
            println!("run {run}");
            println!("output 0:{}", output.iter().map(|v| format!(" {v}")).collect::<String>());
        }
    }
}
