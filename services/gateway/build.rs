//! Compiles the gateway again when the page was built anew, in builds that contain the page.
//!
//! Development builds read the page from its folder. A release build without a page looks for one every time.

fn main() {
    let watched = match std::env::var("PROFILE").as_deref() {
        Ok("release") => "../../clients/web/dist",
        _ => "build.rs",
    };
    println!("cargo::rerun-if-changed={watched}");
}
