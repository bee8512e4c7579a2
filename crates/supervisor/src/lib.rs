//! The operating-system processes: start, watch, kill, reap, replace.
