//! The PROJECT file: what was scaffolded, with every input needed to do it again.
