//! Lets cargo see new and removed templates: `include_dir!` tracks only the files that it found.

fn main() {
    println!("cargo::rerun-if-changed=templates");
}
