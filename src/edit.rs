//! Pure text → text edits of files that the user owns.
