//! The configuration file: its words, defaults, origins, secrets.
