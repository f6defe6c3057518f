//! The modes in which a file of the workspace is opened.

/// The mode in which a file is opened.
#[derive(Clone, Copy)]
pub enum OpenMode {
    /// For reading.
    Read,
    /// For reading and appending; created with this mode if it does not exist.
    Append(u32),
    /// For writing; it must not exist yet, and gets this mode.
    New(u32),
}
