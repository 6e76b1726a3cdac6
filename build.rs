//! Makes cargo track new and removed templates, because `include_dir!` tracks only existing files.

fn main() {
    println!("cargo::rerun-if-changed=templates");
}
