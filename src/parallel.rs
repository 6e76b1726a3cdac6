//! Parallel work on all cores, with results in the order of the inputs.
//!
//! Takes a function and questions, from an iterator or through a [`Queue`]; gives the answers. syn trees are not
//! `Send`, so one thread reads the source and the others work on what it queues. Must stay true: the number of threads
//! never changes the result.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Builder, Scope};

/// The stack size of a thread, in bytes. Parsing Rust recurses with the nesting of the code. Unused stack takes no
/// memory.
pub const STACK: usize = 256 << 20;

/// Below this number, answers take less time than the start of threads.
const FEW: usize = 8;

/// Limit of waiting questions per thread, which bounds memory.
const WAITING: usize = 16;

/// Runs `ask` and answers the questions in its queue by `work`. Returns the answers and the result of `ask`. The
/// calling thread also answers; all other threads end before the return.
pub fn answers<Q: Send, A: Send, T>(
    work: impl Fn(Q) -> A + Sync,
    ask: impl FnOnce(&mut Queue<'_, '_, Q, A>) -> T,
) -> (Vec<A>, T) {
    let shared = Shared { state: Mutex::new(State::default()), changed: Condvar::new(), work: &work };
    let asked = thread::scope(|scope| {
        let mut queue = Queue { shared: &shared, scope, asked: 0, threads: 1 };
        let asked = ask(&mut queue);
        drop(queue);
        while shared.answer_next(false) {}
        asked
    });
    let State { mut answers, .. } = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.sort_unstable_by_key(|(number, _)| *number);
    (answers.into_iter().map(|(_, answer)| answer).collect(), asked)
}

/// Applies `work` to each question.
pub fn map<Q: Send, A: Send>(questions: impl IntoIterator<Item = Q>, work: impl Fn(Q) -> A + Sync) -> Vec<A> {
    answers(work, |queue| questions.into_iter().for_each(|question| queue.push(question))).0
}

/// The queue of questions.
pub struct Queue<'scope, 'env, Q, A> {
    shared: &'scope Shared<'env, Q, A>,
    scope: &'scope Scope<'scope, 'env>,
    asked: usize,
    /// The number of threads, including the calling one.
    threads: usize,
}

impl<Q: Send, A: Send> Queue<'_, '_, Q, A> {
    /// Adds a question. If the queue is full, answers one first.
    pub fn push(&mut self, question: Q) {
        self.asked += 1;
        if self.asked == FEW {
            self.start();
        }
        let mut state = self.shared.lock();
        state.questions.push_back((self.asked, question));
        let full = state.questions.len() > WAITING * self.threads;
        drop(state);
        self.shared.changed.notify_one();
        if full {
            self.shared.answer_next(false);
        }
    }

    /// Discards all previous questions and their answers.
    pub fn clear(&mut self) {
        let mut state = self.shared.lock();
        state.questions.clear();
        state.answers.clear();
        state.first = self.asked + 1;
    }

    /// Starts threads. A failure to start one only reduces their number.
    fn start(&mut self) {
        let wanted = thread::available_parallelism().map_or(1, usize::from);
        while self.threads < wanted {
            let shared = self.shared;
            let run = move || while shared.answer_next(true) {};
            if Builder::new().stack_size(STACK).spawn_scoped(self.scope, run).is_err() {
                break;
            }
            self.threads += 1;
        }
    }
}

impl<Q, A> Drop for Queue<'_, '_, Q, A> {
    /// Also runs on a panic, because the threads would wait forever.
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

struct Shared<'env, Q, A> {
    state: Mutex<State<Q, A>>,
    /// Signals a new question, or the end of questions.
    changed: Condvar,
    work: &'env (dyn Fn(Q) -> A + Sync),
}

struct State<Q, A> {
    /// With their numbers, from 1.
    questions: VecDeque<(usize, Q)>,
    answers: Vec<(usize, A)>,
    /// The first valid number; earlier questions were discarded.
    first: usize,
    closed: bool,
}

impl<Q, A> Default for State<Q, A> {
    fn default() -> Self {
        Self { questions: VecDeque::new(), answers: Vec::new(), first: 1, closed: false }
    }
}

impl<Q, A> Shared<'_, Q, A> {
    fn lock(&self) -> MutexGuard<'_, State<Q, A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a question. Returns false on an empty queue; with `wait`, only after it is closed.
    fn answer_next(&self, wait: bool) -> bool {
        let mut state = self.lock();
        while wait && state.questions.is_empty() && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let Some((number, question)) = state.questions.pop_front() else { return false };
        drop(state);
        let answer = (self.work)(question);
        let mut state = self.lock();
        if number >= state.first {
            state.answers.push((number, answer));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;
    use std::thread::ThreadId;

    use super::*;

    #[test]
    fn answers_are_in_the_order_of_the_questions() {
        for count in [0, 1, FEW, 1000] {
            let slow = |number: usize| (0..(number * 7919) % 1000).fold(number, |sum, next| sum + next % 2 - next % 2);
            assert_eq!(map(0..count, slow), (0..count).collect::<Vec<_>>());
        }
    }

    #[test]
    fn what_was_taken_back_is_not_answered() {
        let (answers, asked) = answers(
            |number: usize| number * 2,
            |queue| {
                (0..100).for_each(|number| queue.push(number));
                queue.clear();
                (100..150).for_each(|number| queue.push(number));
                "asked"
            },
        );
        assert_eq!(answers, (100..150).map(|number| number * 2).collect::<Vec<_>>());
        assert_eq!(asked, "asked");
    }

    #[test]
    fn several_threads_answer_when_there_is_much_to_do() {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        // Each waits for all others, so that each question gets its own thread.
        let together = Barrier::new(threads);
        let who = |number: usize| {
            if number < threads {
                together.wait();
            }
            thread::current().id()
        };
        let ids: BTreeSet<String> =
            map(0..FEW.max(threads), who).iter().map(|id: &ThreadId| format!("{id:?}")).collect();
        assert_eq!(ids.len(), threads);
        let alone: BTreeSet<String> =
            map(0..FEW - 1, |_| thread::current().id()).iter().map(|id| format!("{id:?}")).collect();
        assert_eq!(alone.len(), 1, "threads for little work");
    }

    #[test]
    fn a_panic_is_not_lost() {
        let run = |wrong: usize| {
            catch_unwind(AssertUnwindSafe(|| map(0..50, |number| assert!(number != wrong, "the question {number}"))))
        };
        assert!(run(60).is_ok());
        assert!(run(0).is_err());
        assert!(run(49).is_err());
        let asking = catch_unwind(AssertUnwindSafe(|| {
            answers(
                |number: usize| number,
                |queue| {
                    (0..50).for_each(|number| queue.push(number));
                    panic!("while asking");
                },
            )
        }));
        assert!(asking.is_err());
    }
}
