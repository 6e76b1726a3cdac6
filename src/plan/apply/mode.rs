//! The mode bits of files, on the systems that have them.

use std::fs;
use std::path::Path;

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have no mode bits")]
pub(super) fn mode(permissions: &fs::Permissions) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(permissions.mode() & 0o7777)
}

#[cfg(not(unix))]
pub(super) fn mode(_: &fs::Permissions) -> Option<u32> {
    None
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have no mode bits")]
pub(super) fn permissions(mode: u32) -> Option<fs::Permissions> {
    use std::os::unix::fs::PermissionsExt as _;
    Some(fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
pub(super) fn permissions(_: u32) -> Option<fs::Permissions> {
    None
}

#[cfg(unix)]
pub(super) fn is_writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
pub(super) fn is_writable(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|metadata| !metadata.permissions().readonly())
}
