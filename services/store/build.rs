//! The migrations are embedded by a macro, which does not notice a new file by itself.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
