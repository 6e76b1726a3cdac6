//! The command line: every command, flag and help text, and no behaviour.
