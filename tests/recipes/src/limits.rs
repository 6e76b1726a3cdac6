use std::num::NonZeroUsize;
use std::time::Duration;

use manager::Controller;

use crate::api::Site;

/// For a service that takes one request at a time and sometimes hangs.
pub fn gentle(controller: Controller<'_, Site>) -> Controller<'_, Site> {
    controller
        .max_concurrent_reconciles(NonZeroUsize::MIN)
        .reconcile_timeout(Duration::from_secs(60))
}
