//! All drawing, fed by typed events.
