//! Room that others make meanwhile hides nothing. Alone in its program, because it takes and frees a lot of memory.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use crate::support::{PROGRAM, Workspace, levels};
use updraft_sandbox::{Command, KillReason, Policy, ResourceLimits, Sandbox};

const MIB: usize = 1 << 20;

#[tokio::test]
async fn what_waits_in_sockets_counts_also_while_others_free_memory() {
    for level in levels() {
        let place = Workspace::new();
        let limits = ResourceLimits { memory: 100 << 20, ..ResourceLimits::default() };
        let policy = Policy { limits, read: vec![PROGRAM.into()], ..place.policy() };
        let mut taken: Vec<Vec<u8>> = (0..10).map(|_| vec![1; 60 * MIB]).collect();
        let command = Command { args: vec!["attempt".to_owned(), "queues".to_owned()], ..Command::new(PROGRAM) };
        let child = Sandbox::new(PROGRAM, level).unwrap().spawn(&policy, command).await.unwrap();
        while taken.pop().is_some() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let ended = child.wait().await.unwrap();
        assert_eq!(ended.killed_for, Some(KillReason::Memory), "{level}: {ended:?}");
    }
}
