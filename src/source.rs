//! A crate read with syn: files, modules, names, cfg, dependencies. Never runs cargo or rustc.
