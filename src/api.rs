//! One version of a custom resource as its attributes describe it.
