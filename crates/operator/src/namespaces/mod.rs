//! The controller of labelled namespaces: it keeps the Role and RoleBinding with which the plugin reads pull secrets there.
