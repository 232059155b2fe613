//! Compiles the `.proto` files with protox, so that no protoc is needed, and keeps the descriptors for reflection.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=motorium");
    let files = proto_files(Path::new("motorium"))?;
    let mut compiler = protox::Compiler::new(["."])?;
    compiler
        .include_imports(true)
        .include_source_info(true)
        .open_files(&files)?;
    let descriptors = PathBuf::from(env::var("OUT_DIR")?).join("descriptors.bin");
    fs::write(descriptors, compiler.encode_file_descriptor_set())?;
    tonic_prost_build::configure()
        .bytes(".")
        // Sorted, so that equal messages have equal bytes: hashes of requests depend on it.
        .btree_map(".")
        .compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}

fn proto_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(proto_files(&path)?);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "proto")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
