//! One file per subcommand: options in, [`crate::plan::Plan`] and diagnostics out.
