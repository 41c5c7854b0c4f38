//! Model clients behind one streaming trait: Messages API and scripted.
