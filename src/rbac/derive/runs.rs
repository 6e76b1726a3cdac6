//! Runs of functions, and which of them stand for what the program does.
//!
//! Every function is first run as a root, with unknown arguments. The findings of that run count while no caller is known.
//! With callers, the runs from their calls count instead, each of them: what one caller leaves open is open, whatever
//! another one says.

use std::collections::{BTreeMap, BTreeSet};

use super::index::FunctionId;
use super::types::Ty;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunId(usize);

/// The key of a run.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunCall {
    pub(super) function: FunctionId,
    pub(super) itself: Option<Ty>,
    pub(super) generics: Vec<Ty>,
    pub(super) arguments: Vec<Ty>,
}

#[derive(Debug)]
struct Run {
    function: FunctionId,
    value: Ty,
    calls: BTreeSet<RunId>,
}

/// All runs, with those that have not come to their end.
#[derive(Debug, Default)]
pub(super) struct Runs {
    known: BTreeMap<RunCall, RunId>,
    all: Vec<Run>,
    /// Runs without a caller.
    roots: BTreeSet<RunId>,
    stack: Vec<RunId>,
    counts: BTreeMap<FunctionId, usize>,
}

impl Runs {
    pub(super) fn start(&mut self) {
        *self = Self::default();
    }

    pub(super) fn current(&self) -> Option<RunId> {
        self.stack.last().copied()
    }

    /// The depth of the call stack.
    pub(super) fn depth(&self) -> usize {
        self.stack.len()
    }

    /// The number of times that a function is on the call stack.
    pub(super) fn recursion(&self, function: FunctionId) -> usize {
        self.stack.iter().filter(|run| self.all[run.0].function == function).count()
    }

    pub(super) fn count(&self, function: FunctionId) -> usize {
        self.counts.get(&function).copied().unwrap_or_default()
    }

    /// The value of a call that has been run, or is being run.
    pub(super) fn called(&mut self, call: &RunCall) -> Option<Ty> {
        let run = *self.known.get(call)?;
        self.note(run);
        Some(self.all[run.0].value.clone())
    }

    pub(super) fn enter(&mut self, call: RunCall, value: Ty) {
        let function = call.function;
        let run = RunId(self.all.len());
        self.all.push(Run { function, value, calls: BTreeSet::new() });
        self.known.insert(call, run);
        *self.counts.entry(function).or_default() += 1;
        self.note(run);
        self.stack.push(run);
    }

    pub(super) fn leave(&mut self, value: Ty) {
        if let Some(run) = self.stack.pop() {
            self.all[run.0].value = value;
        }
    }

    fn note(&mut self, run: RunId) {
        match self.current() {
            Some(caller) => {
                self.all[caller.0].calls.insert(run);
            }
            None => {
                self.roots.insert(run);
            }
        }
    }

    /// The runs that stand for what the program does, and those that only show what a function does by itself.
    /// `is_entered` says where a program may begin.
    pub(super) fn live(&self, is_entered: impl Fn(FunctionId) -> bool) -> Live {
        let mut called = BTreeSet::new();
        for run in &self.all {
            let others = run.calls.iter().map(|other| self.all[other.0].function);
            called.extend(others.filter(|function| *function != run.function));
        }
        let function = |run: &RunId| self.all[run.0].function;
        let (inner, outer): (Vec<RunId>, Vec<RunId>) =
            self.roots.iter().partition(|run| called.contains(&function(run)));
        let (entered, others): (Vec<RunId>, Vec<RunId>) = outer.iter().partition(|run| is_entered(function(run)));
        let mut elsewhere = BTreeSet::new();
        self.reach(others, &mut elsewhere);
        let mut live = BTreeSet::new();
        self.reach(entered, &mut live);
        // Functions that only call each other are called by something that is not known.
        let mut covered: BTreeSet<FunctionId> = live.iter().chain(&elsewhere).map(function).collect();
        for root in inner {
            if is_entered(function(&root)) && !covered.contains(&function(&root)) {
                self.reach(vec![root], &mut live);
                covered.extend(live.iter().map(function));
            }
        }
        let here: BTreeSet<FunctionId> = live.iter().map(function).collect();
        let alone = self.roots.iter().filter(|run| !live.contains(run) && here.contains(&function(run)));
        let mut by_itself = BTreeSet::new();
        self.reach(alone.copied().collect(), &mut by_itself);
        Live { live, by_itself }
    }

    /// The run of a function without a caller, with the runs that it reaches.
    #[cfg(test)]
    pub(super) fn of_root(&self, function: FunctionId) -> BTreeSet<RunId> {
        let roots = self.roots.iter().copied().filter(|run| self.all[run.0].function == function).collect();
        let mut reached = BTreeSet::new();
        self.reach(roots, &mut reached);
        reached
    }

    fn reach(&self, mut open: Vec<RunId>, reached: &mut BTreeSet<RunId>) {
        while let Some(run) = open.pop() {
            if reached.insert(run) {
                open.extend(&self.all[run.0].calls);
            }
        }
    }
}

/// Which runs count.
#[derive(Debug, Default)]
pub(super) struct Live {
    live: BTreeSet<RunId>,
    by_itself: BTreeSet<RunId>,
}

/// The weight of a finding of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    Counts,
    /// Counts where no counting run has a finding at the location.
    Otherwise,
    /// Belongs to another program.
    Nothing,
}

impl Live {
    pub(super) fn weight(&self, run: Option<RunId>) -> Weight {
        match run {
            None => Weight::Counts,
            Some(run) if self.live.contains(&run) => Weight::Counts,
            Some(run) if self.by_itself.contains(&run) => Weight::Otherwise,
            Some(_) => Weight::Nothing,
        }
    }
}
