//! Changes as text, as a diff, and as JSON.
