//! Rebuilds the crate when a migration is added: the macro that embeds them does not track new files.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
