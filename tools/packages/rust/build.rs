// SPDX-License-Identifier: Apache-2.0
// Compiles the bundle and what calls it to a static library, with the compiler that CC names. The crate
// `cc` does the same, and knows the flags of other targets: cc::Build::new().files(...).compile("net").
use std::path::PathBuf;
use std::process::Command;

fn run(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn main() {
    let out = PathBuf::from(std::env::var("OUT_DIR").unwrap());
    let compiler = std::env::var("CC").unwrap_or("cc".into());
    let bundle = std::fs::read_dir("net").unwrap().map(|entry| entry.unwrap().path());
    let sources = bundle.chain(["net_glue.c".into()]).filter(|path| path.extension().is_some_and(|end| end == "c"));
    let mut archive = Command::new("ar");
    archive.arg("rcs").arg(out.join("libnet.a"));
    for source in sources {
        let object = out.join(source.file_name().unwrap()).with_extension("o");
        run(Command::new(&compiler).args(["-O2", "-Inet", "-c"]).arg(&source).arg("-o").arg(&object));
        archive.arg(object);
    }
    run(&mut archive);
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=net");
}
