//! Frames, messages and sockets between our own processes.
