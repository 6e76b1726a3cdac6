//! Additions to the user's Cargo.toml with `toml_edit`, which keeps comments, order and layout.
