//! Whole-system suites and the rules of the repository.
