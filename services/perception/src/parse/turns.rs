//! Turns at something that only a few may use at a time, shared fairly: whoever calls often waits behind whoever calls
//! seldom, as the callers that wait take turns and not their calls.
//!
//! Invariants: a turn is taken or given on exactly once; while somebody waits, no turn is free.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// What waits at most, in bytes that are held for it meanwhile; one alone may be larger.
const MOST_BYTES: usize = 512 << 20;

/// What everyone that waits holds beside that: a call with its request and its task.
const EACH: usize = 64 << 10;

/// Too much is waiting already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

/// Turns for callers of some kind.
#[derive(Debug)]
pub(super) struct Turns<Caller: Copy + Eq> {
    state: Mutex<State<Caller>>,
}

#[derive(Debug)]
struct State<Caller: Copy + Eq> {
    free: usize,
    /// Each caller that waits, next first, with its calls in the order in which they came.
    waiting: VecDeque<(Caller, VecDeque<oneshot::Sender<Turn<Caller>>>)>,
    /// Held for those that wait.
    bytes: usize,
}

/// A turn; whoever is next gets it when it is dropped.
#[derive(Debug)]
pub(super) struct Turn<Caller: Copy + Eq>(Option<Arc<Turns<Caller>>>);

impl<Caller: Copy + Eq> Drop for Turn<Caller> {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.give_on();
        }
    }
}

impl<Caller: Copy + Eq> Turns<Caller> {
    /// So many turns at a time, at least one.
    pub(super) fn new(at_once: usize) -> Arc<Self> {
        let state = State {
            free: at_once.max(1),
            waiting: VecDeque::new(),
            bytes: 0,
        };
        Arc::new(Self {
            state: Mutex::new(state),
        })
    }

    /// Waits for a turn, holding so many bytes meanwhile. Whoever drops the future leaves the queue.
    ///
    /// # Errors
    /// [`Full`] at once, if those that wait hold too much.
    pub(super) async fn take(
        self: &Arc<Self>,
        caller: Caller,
        bytes: usize,
    ) -> Result<Turn<Caller>, Full> {
        let bytes = bytes.saturating_add(EACH);
        let given = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                return Ok(Turn(Some(Arc::clone(self))));
            }
            if state.bytes > 0 && state.bytes.saturating_add(bytes) > MOST_BYTES {
                return Err(Full);
            }
            // Those that have gone would be passed over only when a turn is given on, which may be long from now.
            for (_, calls) in &mut state.waiting {
                calls.retain(|giver| !giver.is_closed());
            }
            state.waiting.retain(|(_, calls)| !calls.is_empty());
            let (giver, given) = oneshot::channel();
            match state.waiting.iter_mut().find(|(known, _)| *known == caller) {
                Some((_, calls)) => calls.push_back(giver),
                None => state.waiting.push_back((caller, VecDeque::from([giver]))),
            }
            state.bytes += bytes;
            given
        };
        let _held = Held { turns: self, bytes };
        Ok(given.await.expect("whoever waits is given a turn"))
    }

    /// How many wait.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        let state = self.state();
        state.waiting.iter().map(|(_, calls)| calls.len()).sum()
    }

    /// Gives a turn to whoever is next; those that have gone are passed over.
    fn give_on(self: &Arc<Self>) {
        while let Some(next) = self.next() {
            match next.send(Turn(Some(Arc::clone(self)))) {
                Ok(()) => return,
                // Nobody waits for this one any more.
                Err(mut turn) => turn.0 = None,
            }
        }
    }

    /// Takes whoever is next out of the queue, or frees a turn if nobody is.
    fn next(&self) -> Option<oneshot::Sender<Turn<Caller>>> {
        let mut state = self.state();
        while let Some((caller, mut calls)) = state.waiting.pop_front() {
            // Those that have gone do not cost the caller its turn.
            calls.retain(|call| !call.is_closed());
            let Some(next) = calls.pop_front() else {
                continue;
            };
            if !calls.is_empty() {
                state.waiting.push_back((caller, calls));
            }
            return Some(next);
        }
        state.free += 1;
        None
    }

    fn state(&self) -> MutexGuard<'_, State<Caller>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is held for one that waits.
struct Held<'a, Caller: Copy + Eq> {
    turns: &'a Turns<Caller>,
    bytes: usize,
}

impl<Caller: Copy + Eq> Drop for Held<'_, Caller> {
    fn drop(&mut self) {
        self.turns.state().bytes -= self.bytes;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::future::BoxFuture;

    use super::*;

    type Waiting = BoxFuture<'static, Result<Turn<char>, Full>>;

    fn wait(turns: &Arc<Turns<char>>, caller: char, bytes: usize) -> Waiting {
        let turns = Arc::clone(turns);
        let mut waiting = async move { turns.take(caller, bytes).await }.boxed();
        assert!(
            (&mut waiting).now_or_never().is_none(),
            "{caller} has to wait"
        );
        waiting
    }

    /// Who gets the turn, one after the other, when `first` has it.
    fn order(first: Turn<char>, mut waiting: Vec<(&'static str, Waiting)>) -> String {
        let mut order = Vec::new();
        let mut turn = Some(first);
        while let Some(done) = turn.take() {
            drop(done);
            waiting.retain_mut(|(name, waiting)| match waiting.now_or_never() {
                Some(given) => {
                    assert!(turn.is_none(), "two have the one turn");
                    turn = Some(given.unwrap());
                    order.push(*name);
                    false
                }
                None => true,
            });
        }
        assert!(waiting.is_empty(), "somebody waits for ever");
        order.join(" ")
    }

    #[test]
    fn callers_take_turns_and_not_their_calls() {
        let turns = Turns::new(1);
        let first = turns.take('a', 1).now_or_never().unwrap().unwrap();
        let waiting = ["a1", "a2", "a3", "b1", "c1", "b2"].map(|name| {
            let caller = name.chars().next().unwrap();
            (name, wait(&turns, caller, 1))
        });
        assert_eq!(order(first, waiting.into()), "a1 b1 c1 a2 b2 a3");
        // And then it is free again.
        assert!(turns.take('d', 1).now_or_never().is_some());
    }

    #[test]
    fn whoever_goes_is_passed_over() {
        let turns = Turns::new(1);
        let first = turns.take('a', 1).now_or_never().unwrap().unwrap();
        let [gone, b, also_gone, c] = ['a', 'b', 'b', 'c'].map(|caller| wait(&turns, caller, 1));
        drop((gone, also_gone));
        assert_eq!(order(first, vec![("b", b), ("c", c)]), "b c");
        // Those that went do not cost their caller its turn.
        let first = turns.take('z', 1).now_or_never().unwrap().unwrap();
        let [gone, also_gone, a] = ['a'; 3].map(|caller| wait(&turns, caller, 1));
        let b = wait(&turns, 'b', 1);
        drop((gone, also_gone));
        assert_eq!(order(first, vec![("b", b), ("a", a)]), "a b");
        // Gone just after it was given a turn, and before it saw it.
        let first = turns.take('a', 1).now_or_never().unwrap().unwrap();
        let (gone, b) = (wait(&turns, 'a', 1), wait(&turns, 'b', 1));
        drop(first);
        drop(gone);
        assert!(b.now_or_never().unwrap().is_ok());
    }

    #[test]
    fn several_turns_are_given_at_a_time() {
        let turns = Turns::new(2);
        let first = turns.take('a', 1).now_or_never().unwrap().unwrap();
        let _second = turns.take('a', 1).now_or_never().unwrap().unwrap();
        let third = wait(&turns, 'a', 1);
        assert_eq!(order(first, vec![("a", third)]), "a");
    }

    #[test]
    fn only_so_much_may_wait() {
        let turns = Turns::new(1);
        let _first = turns.take('a', 0).now_or_never().unwrap().unwrap();
        // One may be as large as it likes.
        let large = wait(&turns, 'a', MOST_BYTES + 1);
        assert_eq!(
            turns.take('b', 1).now_or_never().unwrap().unwrap_err(),
            Full
        );
        drop(large);
        let _half = wait(&turns, 'b', MOST_BYTES / 2 - EACH);
        let _other_half = wait(&turns, 'b', MOST_BYTES / 2 - EACH);
        assert_eq!(
            turns.take('b', 1).now_or_never().unwrap().unwrap_err(),
            Full
        );
    }
}
