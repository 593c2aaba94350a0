//! The files below `deploy/crds` are what the types say, and the types need little.

mod crds;
mod dependencies;
