//! What members do to each other: messages, task tools, hello, permission bridging, shutdown.
