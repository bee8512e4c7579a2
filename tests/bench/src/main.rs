//! Drives the release binary beside a bare hyper server.

fn main() {}
