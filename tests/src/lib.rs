//! Harness of the end-to-end suite.
