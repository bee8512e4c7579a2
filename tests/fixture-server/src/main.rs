//! A server for the tests, made only of the public API.

fn main() {}
