use std::num::NonZeroUsize;
use std::time::Duration;

use manager::Controller;

use crate::api::Site;

/// The service that it calls takes one request at a time, and hangs now and then.
pub fn gentle(controller: Controller<'_, Site>) -> Controller<'_, Site> {
    controller
        .max_concurrent_reconciles(NonZeroUsize::MIN)
        .reconcile_timeout(Duration::from_secs(60))
}
