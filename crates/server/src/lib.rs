//! The author's API: the Server trait, era-neutral outcomes, a toolbox of closures.
