//! One binary of integration tests, a file per subject.
