//! The stock binary: the demo server in every role.

fn main() {}
