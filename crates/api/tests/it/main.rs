//! The files below `deploy` are what the types say, the types need little, and their runtimes are those of the table.

mod access;
mod crds;
mod dependencies;
mod runtimes;
