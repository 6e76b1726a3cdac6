//! The source text of this package, for `memcached-sdk`, which copies it into projects.

use include_dir::{Dir, include_dir};

/// The files below `src`.
pub static SOURCES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src");

/// The manifest. Its layout differs once cargo has packaged it.
pub const MANIFEST: &str = include_str!("../Cargo.toml");

/// The settings of rustfmt.
pub const RUSTFMT: &str = include_str!("../rustfmt.toml");
