//! Selects the replicas that run a controller or a task.

use crate::election::leadership::Leadership;

/// The replicas that run a controller or a task, if replicas elect a leader.
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
    /// The leader, from its election until it loses the leadership.
    Leader,
    /// Every replica, from start to shutdown. A replica that does not lead can read, but its writes are refused.
    Always,
}

impl Runs {
    /// Returns the leadership that must be held while it runs.
    pub(crate) fn under(self, leadership: &Leadership) -> Leadership {
        match self {
            Self::Leader => leadership.clone(),
            Self::Always => Leadership::new(true),
        }
    }
}
