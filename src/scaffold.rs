//! Project + resource → files and edits; the only room that knows the templates.
