//! The team lead: spawn, supervision, permission broker, team life cycle.
