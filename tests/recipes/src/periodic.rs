use std::sync::Arc;
use std::time::Duration;

use manager::Action;

use crate::api::Site;
use crate::controller::Result;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// `certificate_ends_in` is the remaining validity of the certificate.
pub async fn reconcile(_site: Arc<Site>, certificate_ends_in: Duration) -> Result<Action> {
    match certificate_ends_in.checked_sub(7 * DAY) {
        Some(later) => Ok(Action::RequeueAfter(later)),
        // Renew it, and look again soon, with backoff.
        None => Ok(Action::Requeue),
    }
}
