//! What a file of the workspace is opened for.

/// What a file is opened for.
#[derive(Clone, Copy)]
pub enum OpenMode {
    /// To be read.
    Read,
    /// To be read and added to; made with this mode if it is not there.
    Append(u32),
    /// To be written; it must not be there, and gets this mode.
    New(u32),
}
