//! The files below `deploy/crds` are what the types say, the types need little, and their runtimes are those of the table.

mod crds;
mod dependencies;
mod runtimes;
