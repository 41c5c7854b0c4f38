//! Pictures of panes, for logs and for pages.
