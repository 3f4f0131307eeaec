//! A staging area: content-addressed files with lifetimes, and a manifest that survives restarts.
