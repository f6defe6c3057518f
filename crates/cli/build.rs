//! Puts the functions that every run needs next to each other in the program that is given to others (profile `dist`).
//!
//! The kernel maps a program's file in windows of 64 KB around what is used. If the functions that run before the first
//! request are scattered over the file, most of it is mapped. `link/order.txt` lists them; `link/record.py` makes the list.
//! Names that no longer exist are ignored, so an old list costs some memory and breaks nothing.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "Cargo speaks to a build script by the environment, and hears what it prints"
)]

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=link/order.txt");
    println!("cargo:rerun-if-env-changed=UPDRAFT_KEEP_SYMBOLS");
    let is_linux = env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    if is_dist() && is_linux && env::var("UPDRAFT_KEEP_SYMBOLS").is_err() {
        println!("cargo:rustc-link-arg-bins=-Wl,--strip-all");
    }
    if is_dist() && linker_can_order() {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo:rustc-link-arg-bins=-Wl,--symbol-ordering-file={folder}/link/order.txt");
        println!("cargo:rustc-link-arg-bins=-Wl,--no-warn-symbol-ordering");
    }
}

/// Whether this is the profile `dist`. Only the output folder says so: `…/dist/build/updraft-HASH/out`.
fn is_dist() -> bool {
    env::var("OUT_DIR").is_ok_and(|folder| folder.rsplit('/').nth(3) == Some("dist"))
}

/// Whether the linker is LLD, which Rust brings along for this target, and not one that somebody has chosen.
fn linker_can_order() -> bool {
    let is_chosen =
        env::var("RUSTC_LINKER").is_ok() || env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|f| f.contains("link"));
    env::var("TARGET").is_ok_and(|target| target == "x86_64-unknown-linux-gnu") && !is_chosen
}
