//! The role step: markers of all packages → the roles of the operator.

use serde_json::Value;

use super::{ManifestOptions, cluster_wide};
use crate::diagnostic::Diagnostics;
use crate::ops::Findings;
use crate::rbac::check;
use crate::rbac::marker::RbacMarker;
use crate::rbac::role::{self, Roles};
use crate::rbac::scope::OperatorScope;
use crate::source::SourceTree;

/// The roles of an operator.
#[derive(Default)]
pub(crate) struct OperatorRoles {
    /// `None` if roles are not requested, or if no marker requests a permission.
    pub(crate) documents: Option<Vec<Value>>,
    /// No marker requests a permission, so there is no role.
    pub(crate) unmarked: bool,
    /// The role name for markers without a name.
    pub(crate) name: String,
    /// The scope of the roles; `None` outside of projects.
    pub(crate) scope: Option<OperatorScope>,
    /// The roles may be incomplete because of an error.
    pub(crate) doubtful: bool,
}

pub(super) struct RoleStep {
    markers: Vec<RbacMarker>,
    scope: Option<OperatorScope>,
    doubtful: bool,
}

impl RoleStep {
    pub(super) fn new(scope: Option<OperatorScope>) -> Self {
        Self { markers: Vec::new(), scope, doubtful: false }
    }

    /// Adds the markers of a package; `broken` if a part of it could not be loaded.
    pub(super) fn read(&mut self, tree: &mut SourceTree, broken: bool) -> Diagnostics {
        let Findings { value, mut diagnostics } = Findings::settled(tree, check::markers);
        self.markers.extend(value);
        self.doubtful |= broken || diagnostics.has_errors();
        if let Some(scope) = self.scope.as_mut().filter(|scope| scope.confined_to.is_some()) {
            let (kinds, read) = tree.settle(cluster_wide);
            scope.cluster_wide.extend(kinds);
            diagnostics.extend(read);
        }
        diagnostics
    }

    pub(super) fn finish(self, options: &ManifestOptions) -> Findings<OperatorRoles> {
        let Self { mut markers, scope, mut doubtful } = self;
        let mut diagnostics = Diagnostics::default();
        if let Some(scope) = &scope {
            let confined = Findings::from(scope.confine(markers, &options.role_name));
            doubtful |= confined.diagnostics.has_errors();
            markers = confined.report(&mut diagnostics);
        }
        // An empty role is useless, and an existing role may be handwritten.
        let unmarked = markers.is_empty() && (scope.is_none() || options.keeps_role) && !doubtful;
        let how = Roles { default_name: &options.role_name, fold: options.fold };
        let documents = (!unmarked).then(|| role::documents(&markers, &how));
        let value = OperatorRoles { documents, unmarked, name: options.role_name.clone(), scope, doubtful };
        Findings { value, diagnostics }
    }
}
