//! On which replicas something runs.

use crate::election::leadership::Leadership;

/// On which replicas a controller or a task runs, where replicas elect a leader.
///
/// # Examples
///
/// ```
/// use manager::{Manager, Runs};
///
/// fn register(manager: &mut Manager) {
///     manager.task("report", Runs::Leader, async || {
///         tracing::info!("this replica leads");
///         Ok::<_, kube::Error>(())
///     });
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// On the one that leads, from when it is elected until it leads no more.
    Leader,
    /// On every replica, from the start to the end. One that does not lead can read, and its writes are refused.
    Always,
}

impl Runs {
    /// What has to hold while it runs.
    pub(crate) fn under(self, leadership: &Leadership) -> Leadership {
        match self {
            Self::Leader => leadership.clone(),
            Self::Always => Leadership::new(true),
        }
    }
}
