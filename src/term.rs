//! The only printer: data to stdout, messages to stderr.
