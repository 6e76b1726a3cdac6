//! Lets cargo see new and removed templates: `include_dir!` tracks only the files that it found.
#![expect(clippy::print_stdout, reason = "this is how a build script talks to cargo")]

fn main() {
    println!("cargo::rerun-if-changed=templates");
}
