//! The text of this package, for the program that copies it into projects.

use include_dir::{Dir, include_dir};

/// The release of this package.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The files below `src`.
pub static SOURCES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src");

/// The manifest, in another layout once cargo has packaged it.
pub const MANIFEST: &str = include_str!("../Cargo.toml");
