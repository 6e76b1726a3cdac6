//! Which `ServiceAccount` is the operator's, where files bind roles to several.

use std::collections::BTreeSet;
use std::fmt;

use super::super::quoted;
use super::RoleManifests;
use crate::diagnostic::Problem;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Account {
    /// Empty where the file leaves it to who applies it.
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Account {
    /// The two may be the same.
    fn fits(&self, other: &Self) -> bool {
        let namespaces = [&self.namespace, &other.namespace];
        self.name == other.name
            && (self.namespace == other.namespace || namespaces.iter().any(|namespace| namespace.is_empty()))
    }

    /// Returns true if the accounts contain it.
    pub(super) fn is_among(&self, accounts: &BTreeSet<Self>) -> bool {
        accounts.iter().any(|account| self.fits(account))
    }
}

impl fmt::Display for Account {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(out, "{}", self.name),
            namespace => write!(out, "{namespace}/{}", self.name),
        }
    }
}

impl RoleManifests {
    /// Takes the rules of one `ServiceAccount` only: that of `wanted`, `NAME` or `NAMESPACE/NAME`, or else the only one that
    /// roles are bound to, of those that workloads run as if there are any.
    ///
    /// # Errors
    ///
    /// There is no such account, or there are several: which ones.
    pub(crate) fn choose(&mut self, wanted: Option<&str>) -> Result<(), Problem> {
        let bound: BTreeSet<Account> = self.bindings.iter().flat_map(|binding| binding.accounts.clone()).collect();
        let Some(text) = wanted else {
            let running: BTreeSet<Account> =
                bound.iter().filter(|account| account.is_among(&self.accounts)).cloned().collect();
            let candidates = if running.is_empty() { bound } else { running };
            if candidates.len() > 1 {
                let problem = Problem::new("the files bind roles to several ServiceAccounts");
                let help = format!("pass the operator's with `--service-account`: {}", quoted(&candidates));
                return Err(problem.help(help));
            }
            return Ok(());
        };
        let (namespace, name) = text.split_once('/').unwrap_or(("", text));
        let asked = Account { namespace: namespace.to_owned(), name: name.to_owned() };
        let found: BTreeSet<Account> = bound.iter().filter(|account| account.fits(&asked)).cloned().collect();
        match found.len() {
            0 => {
                let problem = Problem::new(format!("the files bind no role to the ServiceAccount `{text}`"));
                Err(match bound.len() {
                    0 => problem.help("also pass the files with its bindings"),
                    _ => problem.help(format!("they bind roles to {}", quoted(&bound))),
                })
            }
            1 => {
                self.accounts = found;
                Ok(())
            }
            _ => {
                let problem = Problem::new(format!("`{text}` is the name of several ServiceAccounts"));
                Err(problem.help(format!("add its namespace: {}", quoted(&found))))
            }
        }
    }
}
